import { eventually } from "../../../testing/eventually.ts";
import { get as httpGet, type IncomingMessage } from "node:http";
import { afterEach, expect, test } from "vitest";
import { AppError } from "../../../lib/errors.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import { createHttpServer, type HttpServer } from "./http-server.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { createFakeOperations } from "../testing/fake-operations.ts";
import { endingWatch, fakeWatch } from "../testing/fake-watch.ts";
import { type Http, httpClient } from "../testing/http-client.ts";
import { settle, whenSettled } from "../../grpc/testing/settle.ts";
import { aJob } from "../testing/view-builders.ts";

const closers: (() => Promise<void> | void)[] = [];
/** A server logs a warning when it had to cut a connection; here it never should. */
const warnings: string[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
  expect(warnings.splice(0)).toEqual([]);
});
const logger = {
  ...silentLogger,
  warn: (_: object, message: string) => void warnings.push(message),
};

async function serve(overrides: Partial<Operations>, heartbeatMs = 60_000) {
  const operations = createFakeOperations(overrides);
  const options = { operations, address: "127.0.0.1:0", logger, version: "1" };
  const server: HttpServer = await createHttpServer({ ...options, heartbeatMs, drainMs: 3_000 });
  closers.push(() => server.close());
  const http: Http = httpClient(server.address);
  return { operations, server, http };
}

/** A response that is not read until the test reads it. */
const open = (url: string): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const request = httpGet(url, resolve).on("error", reject);
    closers.push(() => void request.destroy());
  });

async function readUntil(response: IncomingMessage, wanted: RegExp): Promise<string> {
  let text = "";
  response.on("data", (chunk) => (text += String(chunk)));
  await eventually(() => wanted.test(text), { what: `${wanted} was read` });
  return text;
}

interface Sent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: { readonly revision: number; readonly removed?: { readonly id: string } };
}

const parseEvents = (text: string): Sent[] =>
  text
    .split("\n\n")
    .filter((block) => block.includes("data: "))
    .map((block) => {
      const field = (name: string): string | undefined =>
        block
          .split("\n")
          .find((line) => line.startsWith(`${name}: `))
          ?.slice(name.length + 2);
      return { id: field("id"), event: field("event"), data: JSON.parse(field("data") ?? "") };
    });

test("a watch is a stream of events with their kind, data, and the revision to resume from", async () => {
  const { http, operations } = await serve({});
  const query = "after=8&job=17&group=g&kind=job,task&kind=node";
  const answer = await http.get(`/v1/watch?${query}`);
  expect(answer.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
  expect(operations.last()?.args[0]).toEqual({
    afterRevision: 8,
    jobId: "17",
    group: "g",
    kinds: ["job", "task", "node"],
  });
  const events = parseEvents(answer.text).slice(0, -1); // the last event has the reason of the end
  expect(events.map(({ id, event, data }) => `${id} ${event} ${data.revision}`)).toEqual([
    "8 sync 8",
    "9 job 9",
    "10 task 10",
    "11 node 11",
    "12 cluster 12",
    "13 group 13",
    "14 service 14",
    "15 removed 15",
  ]);
  expect(events[1]?.data).toMatchObject({ revision: 9, job: { id: "17" } });
});

/** Changes; a watch gets those after its revision. */
const LOG = [1, 2, 3, 5, 6, 7, 10].map((revision) => ({ revision, id: String(revision) }));
const watchLog = fakeWatch(async function* ({ afterRevision = 0 }) {
  yield { kind: "sync", revision: afterRevision };
  for (const { revision, id } of LOG) {
    if (revision > afterRevision) yield { kind: "removed", revision, what: "job", id };
  }
});

test("wherever a link is lost, resuming after the last id misses and repeats nothing", async () => {
  const { http, operations } = await serve({ watch: watchLog });
  const idsOf = (text: string): string[] =>
    parseEvents(text).flatMap(({ data }) => (data.removed === undefined ? [] : [data.removed.id]));
  const whole = (await http.get("/v1/watch?after=0")).text.split("event: closed")[0] ?? "";
  const blocks = whole.split("\n\n");
  for (let lostAfter = 1; lostAfter < blocks.length; lostAfter += 1) {
    const seen = blocks.slice(0, lostAfter).join("\n\n");
    const lastId = parseEvents(seen).at(-1)?.id ?? "";
    // The header takes precedence: a browser repeats the URL it began with.
    const rest = await http.get("/v1/watch?after=0", { "last-event-id": lastId });
    expect(operations.last()?.args[0]).toMatchObject({ afterRevision: Number(lastId) });
    expect([...idsOf(seen), ...idsOf(rest.text)]).toEqual(idsOf(whole));
  }
});

test("an invalid last event id is rejected", async () => {
  const { http } = await serve({});
  const answer = await http.get("/v1/watch", { "last-event-id": "yesterday" });
  expect(answer).toMatchObject({ status: 400, error: { field: "Last-Event-ID" } });
});

test("a watch that cannot start is an error, not a stream", async () => {
  const watch: Operations["watch"] = () => {
    throw new AppError("compacted", "list again");
  };
  const { http } = await serve({ watch });
  const answer = await http.get("/v1/watch?after=1");
  expect(answer).toMatchObject({
    status: 410,
    error: { code: "compacted", message: "list again" },
  });
});

test("a watch that fails later has the reason in its last event", async () => {
  const watch = fakeWatch(async function* () {
    yield { kind: "sync", revision: 3 };
    throw new AppError("exhausted", "too slow", { revision: 7 });
  });
  const { http } = await serve({ watch });
  const [, last] = parseEvents((await http.get("/v1/watch")).text);
  expect(last).toMatchObject({
    event: "closed",
    id: "7",
    data: { error: { code: "exhausted", message: "too slow", revision: 7 } },
  });
});

const TOO_SLOW = new AppError("exhausted", "too slow", { revision: 7 });

test("a reader whose watch ended while it did not read receives all sent events, and the reason", async () => {
  const { http } = await serve({ watch: endingWatch(TOO_SLOW, false) });
  const response = await open(`${http.url}/v1/watch`);
  await settle();
  const events = parseEvents(await readUntil(response, /event: closed\n.*\n\n/));
  expect(events).toHaveLength(21);
  expect(events.at(-1)).toMatchObject({ id: "7", data: { error: { revision: 7 } } });
});

test("a reader that is cut off is not waited for", async () => {
  const { http } = await serve({ watch: endingWatch(TOO_SLOW, true) });
  const response = await open(`${http.url}/v1/watch`);
  const isOver = new Promise((resolve) => response.once("error", resolve).once("end", resolve));
  response.resume();
  await isOver;
});

/** Sends nothing after its beginning until it has to end. */
function quiet() {
  const source = { isOpen: false, isClosed: false };
  const wait = (signal: AbortSignal) =>
    new Promise((resolve) => signal.addEventListener("abort", resolve));
  const watch = fakeWatch(async function* (_, signal) {
    try {
      yield { kind: "sync", revision: 1 };
      await wait(signal);
    } finally {
      source.isClosed = true;
    }
  });
  const readOutput: Operations["readOutput"] = async function* (_, signal) {
    source.isOpen = true;
    try {
      await wait(signal);
      yield { data: new Uint8Array(), truncated: false };
    } finally {
      source.isClosed = true;
    }
  };
  return { source, watch, readOutput };
}

test("a quiet watch shows signs of life", async () => {
  const { http } = await serve({ watch: quiet().watch }, 10);
  const response = await open(`${http.url}/v1/watch`);
  expect(await readUntil(response, /\n\n:\n\n:\n\n/)).toMatch(/^id: 1\nevent: sync\n/);
});

test("a reader that disconnects closes the source of its watch", async () => {
  const { source, watch } = quiet();
  const { http } = await serve({ watch });
  const response = await open(`${http.url}/v1/watch`);
  await readUntil(response, /sync/);
  response.destroy();
  await eventually(() => source.isClosed, { what: "the source was closed" });
});

test("a watch whose reader does not read is not pulled beyond a bound", async () => {
  const source = { pulled: 0, isClosed: false };
  const watch = fakeWatch(async function* () {
    try {
      const job = aJob({ reason: "x".repeat(64 * 1_024) });
      for (;;) yield { kind: "job", revision: (source.pulled += 1), job };
    } finally {
      source.isClosed = true;
    }
  });
  const { http } = await serve({ watch }, 5);
  const response = await open(`${http.url}/v1/watch`);
  // 64 KiB each. Elsewhere sockets of loopback hold some megabytes; it only matters that it ends.
  const pulledUnread = await whenSettled(() => source.pulled);
  expect(pulledUnread).toBeLessThan(process.platform === "linux" ? 16 : 300);
  response.resume();
  await eventually(() => source.pulled > pulledUnread + 500, { what: "reading lets it go on" });
  response.destroy();
  await eventually(() => source.isClosed, { what: "the source was closed" });
});

test("closing the server ends watches with a reason and does not wait for them", async () => {
  const { source, watch } = quiet();
  const { http, server } = await serve({ watch });
  const response = await open(`${http.url}/v1/watch`);
  let text = "";
  response.on("data", (chunk) => (text += String(chunk)));
  const over = new Promise((resolve) => response.once("close", resolve));
  await eventually(() => text.includes("sync"), { what: "the watch began" });
  await server.close();
  await over;
  expect(text).toMatch(/event: closed\ndata: \{"error":\{"code":"unavailable".*"revision":77/);
  expect(source.isClosed).toBe(true);
});

test("an output is its bytes, from an offset, of a stream and an attempt", async () => {
  const { http, operations } = await serve({});
  await http.send("POST", "/v1/jobs", { script: "x" });
  const answer = await http.get("/v1/tasks/1/output?stream=stderr&offset=7&attempt=2&follow=true");
  expect(answer).toMatchObject({ status: 200, text: "of 1\n" });
  expect(answer.headers.get("content-type")).toBe("application/octet-stream");
  expect(operations.last()?.args[0]).toEqual({
    taskId: "1",
    stream: "stderr",
    offset: 7,
    attempt: 2,
    follow: true,
  });
});

test("a rejected output is an error, one without bytes is empty", async () => {
  const readOutput: Operations["readOutput"] = async function* ({ taskId }) {
    if (taskId === "2") throw new AppError("not_found", "gone");
    yield* [];
  };
  const { http } = await serve({ readOutput });
  expect(await http.get("/v1/tasks/2/output")).toMatchObject({
    status: 404,
    error: { message: "gone" },
  });
  expect(await http.get("/v1/tasks/1/output")).toMatchObject({ status: 200, text: "" });
});

test("an interrupted output is not mistaken for the whole", async () => {
  const read = Promise.withResolvers<void>();
  const readOutput: Operations["readOutput"] = async function* () {
    yield { data: Buffer.from("half"), truncated: false };
    await read.promise;
    throw new AppError("unavailable", "the node is gone");
  };
  const { http } = await serve({ readOutput });
  const response = await fetch(`${http.url}/v1/tasks/1/output`);
  expect(response.status).toBe(200);
  read.resolve();
  await expect(response.text()).rejects.toThrow();
});

test("an output that the server's stop cuts off is not mistaken for the whole", async () => {
  const readOutput: Operations["readOutput"] = async function* (_, signal) {
    yield { data: Buffer.from("half"), truncated: false };
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
  };
  const { http, server } = await serve({ readOutput });
  const response = await fetch(`${http.url}/v1/tasks/1/output?follow=true`);
  const text = response.text();
  text.catch(() => undefined);
  await server.close();
  await expect(text).rejects.toThrow();
});

test("the headers of an output do not wait for its first byte", async () => {
  const { source, readOutput } = quiet();
  const { http } = await serve({ readOutput });
  const response = await open(`${http.url}/v1/tasks/1/output?follow=true`);
  expect(response.statusCode).toBe(200);
  response.destroy();
  await eventually(() => source.isClosed, { what: "the source was closed" });
});

test("a reader that disconnects before the first byte closes the source of its output", async () => {
  const { source, readOutput } = quiet();
  const { http } = await serve({ readOutput });
  const gone = new AbortController();
  const asked = fetch(`${http.url}/v1/tasks/1/output?follow=true`, { signal: gone.signal });
  await eventually(() => source.isOpen, { what: "the source was opened" });
  gone.abort();
  await expect(asked).rejects.toThrow();
  await eventually(() => source.isClosed, { what: "the source was closed" });
});

test("a stopping server lets requests finish and accepts no more", async () => {
  const gate = Promise.withResolvers<void>();
  let isAsked = false;
  const getNode: Operations["getNode"] = async () => {
    isAsked = true;
    await gate.promise;
    throw new AppError("conflict", "late but here");
  };
  const { http, server } = await serve({ getNode });
  const answer = http.get("/v1/nodes/n1");
  await eventually(() => isAsked, { what: "the request arrived" });
  const closed = server.close();
  gate.resolve();
  expect(await answer).toMatchObject({ status: 409, error: { message: "late but here" } });
  await closed;
  await expect(http.get("/healthz")).rejects.toThrow();
});

test("a host name that is not this machine's is rejected on loopback", async () => {
  const { server } = await serve({});
  const [host, port] = server.address.split(":");
  const statusFor = (name: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const options = { host, port, path: "/healthz", headers: { host: name } };
      httpGet(options, (response) => {
        response.resume();
        resolve(response.statusCode);
      }).on("error", reject);
    });
  expect(await statusFor("evil.example")).toBe(403);
  expect(await statusFor("127.0.0.1.evil.example:80")).toBe(403);
  for (const name of ["localhost:7070", "127.0.0.1", "[::1]:7070"]) {
    expect(await statusFor(name)).toBe(200);
  }
});
