import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { status } from "@grpc/grpc-js";
import { afterEach, expect, test } from "vitest";
import { State } from "../gen/busbar/v1/busbar_pb.ts";
import { AppError } from "../lib/errors.ts";
import { type BusbarClient, createClient } from "./client.ts";
import { stateNames, stateOf } from "./state.ts";
import { wrongPort } from "./status.ts";
import { type Handlers, Refusal, serve } from "./testing/serve.ts";

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function connect(handlers: Handlers): Promise<BusbarClient> {
  const server = await serve(handlers);
  closers.push(() => server.close());
  const client = createClient({ server: server.address });
  closers.push(() => client.close());
  return client;
}

async function failure(work: Promise<unknown>): Promise<AppError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(AppError);
  return error as AppError;
}

test("a call sends a plain object and receives a message", async () => {
  const client = await connect({
    submitJobs: ({ jobs }) => ({ jobs: jobs.map((_, at) => ({ id: `${at + 1}` })), revision: 9n }),
  });
  const answer = await client.submitJobs({ jobs: [{ spec: { command: ["true"] } }, {}] });
  expect(answer.jobs.map((job) => job.id)).toEqual(["1", "2"]);
  expect(answer.revision).toBe(9n);
});

test("a stream is read to its end", async () => {
  const client = await connect({
    async *readOutput() {
      for (const text of ["a", "b", "c"]) yield { data: Buffer.from(text) };
    },
  });
  let text = "";
  for await (const { data } of client.readOutput({ taskId: "1" })) text += Buffer.from(data);
  expect(text).toBe("abc");
});

test("leaving the loop ends the call on the server", async () => {
  const ended = Promise.withResolvers<void>();
  const client = await connect({
    async *watch(_, signal) {
      signal.addEventListener("abort", () => ended.resolve());
      for (let at = 1n; !signal.aborted; at += 1n) {
        yield { revision: at };
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  });
  for await (const { revision } of client.watch({})) {
    if (revision === 3n) break;
  }
  await ended.promise;
});

const statuses: readonly [keyof typeof status, AppError["code"]][] = [
  ["INVALID_ARGUMENT", "invalid_argument"],
  ["NOT_FOUND", "not_found"],
  ["ALREADY_EXISTS", "already_exists"],
  ["PERMISSION_DENIED", "permission_denied"],
  ["FAILED_PRECONDITION", "conflict"],
  ["OUT_OF_RANGE", "compacted"],
  ["RESOURCE_EXHAUSTED", "exhausted"],
  ["UNAVAILABLE", "unavailable"],
  ["DATA_LOSS", "internal"],
];
for (const [code, want] of statuses) {
  test(`gRPC status ${code} is ${want}, with the server's own message and field`, async () => {
    const client = await connect({
      getJob: () => {
        throw new Refusal(code, "no such luck", "id");
      },
      async *watch() {
        yield {};
        throw new Refusal(code, "no such luck", "id");
      },
    });
    const one = await failure(client.getJob({ id: "1" }));
    const many = await failure(drain(client.watch({})));
    for (const error of [one, many]) {
      expect([error.code, error.message, error.field]).toEqual([want, "no such luck", "id"]);
    }
  });
}

test("the error about an unreachable server names it and says how to start it", async () => {
  const client = createClient({ server: "127.0.0.1:1" });
  closers.push(() => client.close());
  const error = await failure(client.getStats({}));
  expect(error.code).toBe("unavailable");
  expect(error.message).toMatch(/is busbar running at 127\.0\.0\.1:1\? start it with `busbar up`/);
});

test("a call to a server that does not answer ends at its deadline", async () => {
  const client = await connect({ getStats: () => new Promise<never>(() => undefined) });
  const error = await failure(client.getStats({}, { timeoutMs: 50 }));
  expect(error.code).toBe("unavailable");
  expect(error.message).toMatch(/no answer in time/);
});

test("an aborted call and an aborted stream fail with the signal's reason", async () => {
  const client = await connect({
    getStats: () => new Promise<never>(() => undefined),
    async *watch(_, signal) {
      yield {};
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  });
  const reason = new AppError("conflict", "changed my mind");
  const abort = new AbortController();
  const call = failure(client.getStats({}, { signal: abort.signal }));
  const stream = client.watch({}, { signal: abort.signal });
  await stream.next();
  abort.abort(reason);
  expect(await call).toBe(reason);
  expect(await failure(drain(stream))).toBe(reason);
  expect(await failure(client.getStats({}, { signal: abort.signal }))).toBe(reason);
});

test("the error about a method that the server lacks says that versions differ", async () => {
  const client = await connect({});
  expect((await failure(client.getStats({}))).message).toMatch(/does not serve this version/);
});

test("a wrong address is rejected before anything is sent", () => {
  expect(() => createClient({ server: "http://x:1" })).toThrow(/is a URL/);
});

test("the names and numbers of states equal those of the wire", () => {
  const wire = Object.entries(State).filter(([name]) => name !== "UNSPECIFIED");
  expect(stateNames.map((name) => [name.toUpperCase(), stateOf(name)])).toEqual(wire);
});

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

test("a client that dials the REST port instead of the gRPC port gets an error with the right address", async () => {
  const http = createServer((_, answer) => answer.end("hello"));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  const client = createClient({ server: `127.0.0.1:${port}` });
  try {
    await expect(client.getStats({})).rejects.toThrow(
      `127.0.0.1:${port} answers, but not with gRPC; \`busbar up\` prints two ports`,
    );
    expect(wrongPort("10.0.0.5:7070")).toMatch(/write --server 10[.]0[.]0[.]5:7071$/);
  } finally {
    client.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  }
});
