import { get, type IncomingMessage, request as open } from "node:http";
import { constants, createGunzip } from "node:zlib";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { eventually } from "../../../testing/eventually.ts";
import { aPlane } from "../../../testing/plane.ts";
import { createTraffic } from "../../grpc/traffic.ts";
import { createNexusServer } from "../server.ts";

export interface Reply {
  readonly status: number;
  readonly type: string;
  readonly body: Record<string, unknown>;
}

/** An event of a watch. */
export interface Line {
  readonly type: string;
  readonly object: {
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly resourceVersion: string };
    readonly [field: string]: unknown;
  };
}

/** A control plane with the door, and a client of it. */
export async function aNexusBed({
  isSchedulerExternal = false,
}: { readonly isSchedulerExternal?: boolean } = {}) {
  const policies = { policy: "spread", isEnergyExternal: isSchedulerExternal };
  const { plane, clock } = await aPlane({ policies });
  const door = await createNexusServer({
    operations: plane.operations,
    sessions: plane.sessions,
    isSchedulerExternal,
    secret: "secret",
    address: "127.0.0.1:0",
    clock,
    logger: silentLogger,
    version: "test",
    traffic: createTraffic(),
    drainMs: 100,
  });
  const url = (path: string): string => `http://${door.address}${path}`;
  const watches: IncomingMessage[] = [];

  const send = (
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const text =
        body === undefined || Buffer.isBuffer(body) ? (body ?? "") : JSON.stringify(body);
      const length =
        body === undefined ? {} : { "content-length": String(Buffer.byteLength(text)) };
      const type = { "content-type": "application/json", ...length };
      const request = open(url(path), { method, headers: { ...type, ...headers } }, (response) => {
        let got = "";
        response.setEncoding("utf8").on("data", (part: string) => (got += part));
        response.on("end", () => {
          const shown = response.headers["content-type"] ?? "";
          const isJson = shown.startsWith("application/json");
          const parsed: unknown = isJson ? JSON.parse(got) : { text: got };
          const status = response.statusCode ?? 0;
          resolve({ status, type: shown, body: parsed as Record<string, unknown> });
        });
      });
      request.on("error", reject);
      request.end(text);
    });

  /** Collects the lines of a watch; `isOver` once the server has ended it. */
  const watch = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const lines: Line[] = [];
    const seen = { lines, isOver: false, status: 0, isGzip: false };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      get(url(path), { headers }, resolve).on("error", reject);
    });
    watches.push(response);
    seen.status = response.statusCode ?? 0;
    let rest = "";
    seen.isGzip = response.headers["content-encoding"] === "gzip";
    const body = seen.isGzip
      ? response.pipe(createGunzip({ flush: constants.Z_SYNC_FLUSH }))
      : response;
    body.setEncoding("utf8").on("data", (part: string) => {
      const all = (rest + part).split("\n");
      rest = all.pop() ?? "";
      lines.push(...all.map((line) => JSON.parse(line) as Line));
    });
    response.on("close", () => (seen.isOver = true));
    return seen;
  };

  return {
    routes: door.routes,
    reader: door.routes.reader,
    door,
    plane,
    clock,
    url,
    send,
    get: (path: string, headers?: Readonly<Record<string, string>>) =>
      send("GET", path, undefined, headers),
    watch,
    /** Waits until a watch has received so many events. */
    async tells(seen: { readonly lines: readonly Line[] }, count: number): Promise<void> {
      await eventually(() => seen.lines.length >= count, {
        what: () => `${count} events, not ${seen.lines.length}: ${typesOf(seen.lines.slice(-20))}`,
      });
    },
    async close() {
      for (const response of watches) response.destroy();
      await door.close();
      await plane.close();
    },
  };
}

const typesOf = (lines: readonly Line[]): string => lines.map(({ type }) => type).join(" ");

export const JOBS = "/apis/jobscheduler.intel.com/v1/jobs";
export const EDGES = "/apis/edge.intel.com/v1/edges";
export const TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
