import { connect as connectHttp2 } from "node:http2";
import { connect as connectTcp } from "node:net";
import { percentile, sleep } from "../support/numbers.ts";
import { atMost, type Bench, type Case, type Measure } from "../support/part.ts";
import { readRss } from "../support/proc.ts";
import type { Server } from "../support/site.ts";

const STREAMS = 40;
const STREAM_BYTES = 64 * 1024 ** 2;
const CONNECTIONS = 4;
const BODIES = 20;
const BODY_BYTES = 50_000_000;
const FLOOD_MS = 9_000;
const RETURN_MS = 10_000;
const MB = 1_000_000;
const PART = Buffer.alloc(256 * 1024, 0x20);
/** The budget for large requests, the reserve for small ones, and some for garbage. */
const GROWTH_MB_MAX = 400;
const LEFT_MB_MAX = 150;
const SUBMIT_MS_MAX = 100;

interface Writer {
  write(bytes: Buffer): boolean;
  once(event: "drain", then: () => void): unknown;
  readonly destroyed: boolean;
}

/** Writes as fast as the server reads, and never the last byte. */
function flood(to: Writer, bytes: number): void {
  let left = bytes - 1;
  const go = (): void => {
    while (left > 0 && !to.destroyed) {
      const part = PART.subarray(0, Math.min(left, PART.length));
      left -= part.length;
      if (!to.write(part)) return void to.once("drain", go);
    }
  };
  go();
}

function openStreams(grpc: string): () => void {
  const sessions = Array.from({ length: CONNECTIONS }, () => connectHttp2(`http://${grpc}`));
  for (const session of sessions) session.on("error", () => undefined);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(STREAM_BYTES, 1);
  for (let at = 0; at < STREAMS; at++) {
    const stream = sessions[at % CONNECTIONS]?.request({
      ":method": "POST",
      ":path": "/busbar.v1.Busbar/RegisterCluster",
      "content-type": "application/grpc",
      te: "trailers",
    });
    stream?.on("error", () => undefined);
    stream?.write(head);
    if (stream !== undefined) flood(stream, STREAM_BYTES);
  }
  return () => {
    for (const session of sessions) session.destroy();
  };
}

function openBodies(http: string): () => void {
  const { hostname, port } = new URL(`http://${http}`);
  const sockets = Array.from({ length: BODIES }, () => {
    const socket = connectTcp(Number(port), hostname);
    socket.on("error", () => undefined);
    const type = "Content-Type: application/json";
    socket.write(
      `POST /v1/clusters HTTP/1.1\r\nHost: ${http}\r\n${type}\r\nContent-Length: ${BODY_BYTES}\r\n\r\n`,
    );
    flood(socket, BODY_BYTES);
    return socket;
  });
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}

async function underFlood(
  name: string,
  { process, client }: Server,
  open: () => () => void,
): Promise<readonly Measure[]> {
  const before = readRss(process.pid) / MB;
  let most = before;
  const close = open();
  const times: number[] = [];
  const endMs = performance.now() + FLOOD_MS;
  while (performance.now() < endMs) {
    const beginMs = performance.now();
    await client.submitJobs({ jobs: [{ spec: { command: ["true"] } }] });
    times.push(performance.now() - beginMs);
    most = Math.max(most, readRss(process.pid) / MB);
    await sleep(10);
  }
  close();
  await sleep(RETURN_MS);
  const left = readRss(process.pid) / MB - before;
  return [
    { name: `${name}: growth`, value: most - before, unit: "MB", must: atMost(GROWTH_MB_MAX) },
    { name: `${name}: after they closed`, value: left, unit: "MB", must: atMost(LEFT_MB_MAX) },
    {
      name: `${name}: small submit meanwhile, p99`,
      value: percentile(times, 0.99),
      unit: "ms",
      must: atMost(SUBMIT_MS_MAX),
      note: `${times.length} submits`,
    },
  ];
}

export const bytesUnderWay: Case = {
  id: "k.bytes",
  what: `memory while ${STREAMS} gRPC streams of 64 MiB, then ${BODIES} REST bodies of 50 MB, never end`,
  async run(bench: Bench) {
    const site = bench.openSite();
    const server = await site.startServer();
    const http = await server.process.prints(/REST:\s+http:\/\/(\S+:\d+)/);
    await fetch(`http://${http}/healthz`); // it loads what serves REST
    const streams = await underFlood("streams", server, () => openStreams(server.grpc));
    const bodies = await underFlood("bodies", server, () => openBodies(http));
    bench.worked(1);
    return [...streams, ...bodies];
  },
};
