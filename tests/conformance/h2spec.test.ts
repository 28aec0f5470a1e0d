import { execFile } from "node:child_process";
import { createServer } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, expect, test } from "vitest";
import { HeaderList } from "../../src/api/grpc/http2/header-list.ts";
import { OwnConnection } from "../../src/api/grpc/http2/own/connection.ts";
import type { RequestStream } from "../../src/api/grpc/http2/transport.ts";
import { Site } from "../support/busbar.ts";
import { builtPrograms } from "./support/go-programs.ts";

const run = promisify(execFile);
const sources = fileURLToPath(new URL("h2spec", import.meta.url));
const CASES = 146;

/**
 * h2spec sends requests that are not gRPC, which Busbar answers with headers alone (415). These cases wait for bytes of an answer, or need a stream
 * that stays open because its bytes have no window (5.1.2). The second test runs them.
 */
const NEED_BYTES = [
  "generic/2/2",
  "generic/2/3",
  "http2/5.1.2/1",
  "http2/6.5.3/1",
  "http2/6.9.1/1",
  "http2/6.9.2/1",
  "http2/6.9.2/2",
];

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Result {
  readonly name: string;
  readonly result: "passed" | "skipped" | "failed" | "not run";
  readonly problem?: string;
}

async function h2spec(host: string, port: number): Promise<readonly Result[]> {
  const directory = await builtPrograms({ name: "h2spec", sources, packages: ["."] });
  const args = [host, String(port)];
  const { stdout } = await run(join(directory, "h2spec"), args, { timeout: 100_000 });
  const lines = stdout.trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Result);
}

const otherThan = (wanted: Result["result"], results: readonly Result[]) =>
  results.filter(({ result }) => result !== wanted);

test("a gRPC port passes all cases of h2spec that need no bytes of an answer, also the strict ones", async () => {
  const site = new Site();
  closers.push(() => site.close());
  await site.startServer();
  const { hostname, port } = new URL(`http://${site.server}`);
  const results = await h2spec(hostname, Number(port));
  expect(results).toHaveLength(CASES);
  expect(otherThan("passed", results).map(({ name }) => name.split(":")[0])).toEqual(NEED_BYTES);
});

test("its HTTP/2 passes all cases with answers that have bytes", async () => {
  const head = new HeaderList({ ":status": 200 });
  const trailers = new HeaderList({ "x-trailer": "yes" });
  const answer = (stream: RequestStream): void => {
    stream.respond(head);
    stream.end(trailers, Buffer.from("some bytes"));
  };
  const ignore = (): void => undefined;
  const server = createServer((socket) => {
    const onStream = (stream: RequestStream): void =>
      stream.listen({
        onData: ignore,
        onEnd: () => answer(stream),
        onDrain: ignore,
        onClose: ignore,
      });
    closers.push(() => void socket.destroy());
    return new OwnConnection(socket, () => ({ onStream, onClose: ignore }), false);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  closers.push(() => new Promise<void>((closed) => void server.close(() => closed())));
  const { port } = server.address() as { port: number };
  const results = await h2spec("127.0.0.1", port);
  expect(results).toHaveLength(CASES);
  expect(otherThan("passed", results)).toEqual([]);
});
