import { connect, type Socket } from "node:net";
import { createGunzip, constants } from "node:zlib";
import { parseAddress } from "../src/lib/address.ts";
import { NexusClient } from "./support/nexus-client.ts";

// Watches of jobs as kubectl and client-go open them, in a separate process that reads all and parses the events of one.

/** The order of the bench to this process, as JSON in its first argument. */
export interface NexusWatchersOptions {
  readonly server: string;
  readonly watches: number;
  /** They accept gzip, as Go's programs do by default. */
  readonly isGzip: boolean;
  /** So many jobs end. */
  readonly jobs: number;
}

export interface NexusWatchersResult {
  /** Ended jobs that the parsed watch received. */
  readonly ended: number;
  /** Bytes per reader, minimum and maximum. */
  readonly bytes: readonly [least: number, most: number];
  readonly cpuMs: number;
}

const QUIET_MS = 1_000;
const options = JSON.parse(process.argv[2] ?? "") as NexusWatchersOptions;
const client = new NexusClient(options.server, 1);
const { resourceVersion } = await client.list("Job", "limit=1");
const bytes: number[] = [];
const ended = new Set<string>();
let lastMs = 0;

/** For the first reader: the job whose end the event shows. */
function look(line: string): void {
  if (!line.includes('"percentCompleted":100')) return;
  ended.add(/"metadata":\{"name":"([0-9a-f]{40})"/.exec(line)?.[1] ?? "");
}

function openOne(at: number): Promise<Socket> {
  const socket = connect(parseAddress(options.server, "nexus"));
  const accept = options.isGzip ? "Accept-Encoding: gzip\r\n" : "";
  const path = `${client.path("Job")}?watch=true&allowWatchBookmarks=true&resourceVersion=${resourceVersion}`;
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${options.server}\r\n${accept}\r\n`);
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  socket.once("error", reject);
  let decode: ((chunk: Buffer) => void) | undefined;
  let head = Buffer.alloc(0);
  bytes[at] = 0;
  socket.on("data", (chunk: Buffer) => {
    bytes[at] = (bytes[at] ?? 0) + chunk.length;
    lastMs = performance.now();
    if (at > 0) return resolve(socket);
    if (decode !== undefined) return decode(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    if (!head.toString("latin1", 0, end).startsWith("HTTP/1.1 200")) {
      return reject(new Error(head.toString()));
    }
    decode = decoder(/content-encoding: gzip/i.test(head.toString("latin1", 0, end)));
    decode(head.subarray(end + 4));
    resolve(socket);
  });
  return promise;
}

function decoder(isGzip: boolean): (chunk: Buffer) => void {
  let rest = "";
  const take = (text: string): void => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) look(line);
  };
  if (!isGzip) return (chunk) => take(chunk.toString());
  const gunzip = createGunzip({ flush: constants.Z_SYNC_FLUSH });
  gunzip.setEncoding("utf8").on("data", take);
  return (chunk) => void gunzip.write(chunk);
}

for (let at = 0; at < options.watches; at++) await openOne(at);
const opened = process.cpuUsage();
process.stdout.write("open\n");
const timer = setInterval(() => {
  if (ended.size < options.jobs || performance.now() - lastMs < QUIET_MS) return;
  clearInterval(timer);
  const { user, system } = process.cpuUsage(opened);
  const result: NexusWatchersResult = {
    ended: ended.size,
    bytes: [Math.min(...bytes), Math.max(...bytes)],
    cpuMs: (user + system) / 1_000,
  };
  process.stdout.write(`quiet ${JSON.stringify(result)}\n`);
}, 50);
