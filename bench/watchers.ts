import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { WatchRequestSchema } from "../src/gen/busbar/v1/busbar_pb.ts";
import { parseAddress } from "../src/lib/address.ts";

/** The order of the bench to this process, as JSON in its first argument. */
export interface WatcherOptions {
  readonly http: string;
  readonly grpc: string;
  /** The number of watches of each kind: those that read everything, and those that read nothing. */
  readonly sse: { readonly read: number; readonly unread: number };
  readonly calls: { readonly read: number; readonly unread: number };
  /** The readers accept gzip, those over gRPC also batches. */
  readonly gzip: boolean;
  /** One more watch over gRPC for each of these jobs. */
  readonly jobs: readonly string[];
}

export interface WatcherResult {
  /** Bytes that the readers of each kind received, minimum and maximum: all get the same. */
  readonly sse: readonly [least: number, most: number];
  readonly calls: readonly [least: number, most: number];
  readonly seconds: number;
  readonly cpuMs: number;
}

const STREAMS_PER_CONNECTION = 50;
const WINDOW_BYTES = 1024 * 1024;
const QUIET_MS = 1_000;
const COMMIT_BYTES_MIN = 100_000;

interface Reader {
  bytes: number;
}
let lastMs = 0;

function openSse(address: string, reader: Reader | undefined, gzip: boolean): Promise<void> {
  const socket = connect(parseAddress(address, "http"));
  socket.on("error", () => undefined);
  const { promise, resolve } = Promise.withResolvers<void>();
  const accept = gzip ? "Accept-Encoding: gzip\r\n" : "";
  socket.write(`GET /v1/watch HTTP/1.1\r\nHost: ${address}\r\n${accept}\r\n`);
  socket.on("data", (chunk) => {
    // The head and the first event; an unread watch is not read from here on.
    if (reader === undefined) socket.pause();
    else {
      reader.bytes += chunk.length;
      lastMs = performance.now();
    }
    resolve();
  });
  return promise;
}

function openCalls(
  address: string,
  requests: readonly Buffer[],
  readers: readonly Reader[] | undefined,
  gzip: boolean,
): Promise<void>[] {
  const session = connectHttp2(`http://${address}`);
  session.on("error", () => undefined);
  if (readers !== undefined) {
    session.once("connect", () => session.setLocalWindowSize(16 * WINDOW_BYTES));
  }
  return requests.map((request, at) => {
    const stream = session.request({
      ":method": "POST",
      ":path": "/busbar.v1.Busbar/Watch",
      "content-type": "application/grpc",
      te: "trailers",
      ...(gzip ? { "grpc-accept-encoding": "identity,gzip" } : {}),
    });
    stream.on("error", () => undefined);
    const { promise, resolve } = Promise.withResolvers<void>();
    stream.end(request);
    stream.on("response", ({ "grpc-status": refused }) => {
      if (refused !== undefined) throw new Error(`a watch was refused with ${String(refused)}`);
      resolve();
    });
    const reader = readers?.[at];
    if (reader !== undefined) {
      stream.on("data", (chunk: Buffer) => {
        reader.bytes += chunk.length;
        lastMs = performance.now();
      });
    }
    return promise;
  });
}

/** Without a job: of all jobs. */
function frameOf(batches: boolean, jobId?: string): Buffer {
  const request = { batches, ...(jobId === undefined ? {} : { jobId }) };
  const message = toBinary(WatchRequestSchema, create(WatchRequestSchema, request));
  const frame = Buffer.alloc(5 + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  return frame;
}

const readersOf = (count: number): Reader[] => Array.from({ length: count }, () => ({ bytes: 0 }));

async function openAll({ http, grpc, sse, calls, jobs, gzip }: WatcherOptions) {
  const sseReaders = readersOf(sse.read);
  const callReaders = readersOf(calls.read);
  for (const reader of sseReaders) await openSse(http, reader, gzip);
  for (let at = 0; at < sse.unread; at++) await openSse(http, undefined, gzip);
  const inLots = async (requests: readonly Buffer[], readers?: readonly Reader[]) => {
    for (let at = 0; at < requests.length; at += STREAMS_PER_CONNECTION) {
      const end = at + STREAMS_PER_CONNECTION;
      await Promise.all(openCalls(grpc, requests.slice(at, end), readers?.slice(at, end), gzip));
    }
  };
  const all = frameOf(gzip);
  await inLots(
    callReaders.map(() => all),
    callReaders,
  );
  await inLots(Array.from({ length: calls.unread }, () => all));
  await inLots(
    jobs.map((job) => frameOf(gzip, job)),
    readersOf(jobs.length),
  );
  return { sseReaders, callReaders };
}

const spread = (readers: readonly Reader[]): readonly [number, number] => {
  const bytes = readers.map((reader) => reader.bytes);
  return bytes.length === 0 ? [0, 0] : [Math.min(...bytes), Math.max(...bytes)];
};

const options = JSON.parse(process.argv[2] ?? "") as WatcherOptions;
const { sseReaders, callReaders } = await openAll(options);
const opened = process.cpuUsage();
process.stdout.write("open\n");
lastMs = 0;
let firstMs = 0;
setInterval(() => {
  if (lastMs === 0) return;
  // Before the commit, readers have a few hundred bytes.
  if ([...sseReaders, ...callReaders].some(({ bytes }) => bytes < COMMIT_BYTES_MIN)) return;
  if (firstMs === 0) firstMs = lastMs;
  if (performance.now() - lastMs < QUIET_MS) return;
  const { user, system } = process.cpuUsage(opened);
  const result: WatcherResult = {
    sse: spread(sseReaders),
    calls: spread(callReaders),
    seconds: (lastMs - firstMs) / 1_000,
    cpuMs: (user + system) / 1_000,
  };
  process.stdout.write(`quiet ${JSON.stringify(result)}\n`);
  lastMs = 0;
}, 50);
