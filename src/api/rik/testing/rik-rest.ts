import { request } from "node:http";
import { afterEach } from "vitest";
import { silentLogger } from "../../../testing/silent-logger.ts";
import type { HttpListener } from "../../web/http-listener.ts";
import { createRikRest } from "../rest/server.ts";
import { POD, type RikBed } from "./rik-bed.ts";

export interface Got {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly text: string;
}

/** Like rikctl: no Content-Type. */
export type Ask = (
  method: string,
  path: string,
  body?: unknown,
  authorization?: string,
) => Promise<Got>;

/** Serves the REST API of a bed; it ends after the test that opened it. */
export function useRikRest(): (bed: RikBed) => Promise<Ask> {
  const listeners: HttpListener[] = [];
  afterEach(async () => {
    for (const listener of listeners.splice(0)) await listener.close();
  });
  return async ({ door }) => {
    const listener = await createRikRest({ ...door, address: "127.0.0.1:0", logger: silentLogger });
    listeners.push(listener);
    return askAt(listener.address);
  };
}

const askAt =
  (address: string): Ask =>
  (method, path, body, authorization) =>
    new Promise((resolve, reject) => {
      const url = `http://${address}${path.startsWith("/") ? path : `/api/v0/${path}`}`;
      const headers = authorization === undefined ? {} : { authorization };
      const sent = request(url, { method, headers }, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (part: string) => (text += part));
        response.on("end", () => {
          resolve({ status: response.statusCode, type: response.headers["content-type"], text });
        });
      });
      sent.on("error", reject);
      const isPlain = typeof body === "string" || Buffer.isBuffer(body);
      sent.end(isPlain || body === undefined ? body : JSON.stringify(body));
    });

export const json = ({ text }: Got): unknown => JSON.parse(text);

export const pod = (name: string, image = "alpine:latest"): object => ({
  ...(JSON.parse(POD.replace("alpine:latest", image)) as object),
  name,
});

/** Creates a workload; returns its id. */
export async function workload(ask: Ask, name = "web", image?: string): Promise<string> {
  return (json(await ask("POST", "workloads.create", pod(name, image))) as { id: string }).id;
}

export interface ShownInstance {
  readonly id: string;
  readonly value: {
    readonly status: string;
    readonly reason?: string;
    readonly node?: string;
    readonly spec: { readonly containers: readonly { readonly image: string }[] };
  };
}

export const instances = async (ask: Ask): Promise<ShownInstance[]> =>
  json(await ask("GET", "instances.list")) as ShownInstance[];
