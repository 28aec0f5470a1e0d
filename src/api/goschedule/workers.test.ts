import { eventually } from "../../testing/eventually.ts";
import { type Client, status } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { FakeClock } from "../../testing/fake-clock.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Executed, RemoteShell } from "../../ports/remote-shell.ts";
import { createSystemRandom } from "../../system/random.ts";
import { createGrpcServer, type GrpcServer } from "../grpc/server.ts";
import { connect } from "../grpc/testing/grpc-client.ts";
import { settle } from "../grpc/testing/settle.ts";
import { silentLogger } from "../../testing/silent-logger.ts";
import { createFakeOperations } from "../native/testing/fake-operations.ts";
import { Previews } from "./lists/previews.ts";
import { goScheduleService } from "./service.ts";
import { openWorker } from "./testing/fake-worker.ts";

const PING_MS = 3_000;
const SILENCE_MS = 10_000;
const SILENT = "timer for rx of 10000000000 expired";

let clock: FakeClock;
let server: GrpcServer;
let client: Client;
let shells: RemoteShell[];
let attach: (shell: RemoteShell) => void;

beforeEach(async () => {
  clock = new FakeClock();
  shells = [];
  attach = (shell) => void shells.push(shell);
  const service = goScheduleService({
    operations: createFakeOperations(),
    clock,
    random: createSystemRandom(),
    logger: silentLogger,
    previews: new Previews(),
    settings: { pingMs: PING_MS, silenceMs: SILENCE_MS },
    attach: (shell) => attach(shell),
  });
  server = await createGrpcServer({
    address: "127.0.0.1:0",
    services: [service],
    logger: silentLogger,
  });
  client = connect(server.address);
});
afterEach(async () => {
  client.close();
  await server.close();
  expect(clock.timers).toBe(0);
});

type Worker = ReturnType<typeof openWorker>;

async function aWorker(id = "w1"): Promise<{ worker: Worker; shell: RemoteShell }> {
  const worker = openWorker(client);
  const before = shells.length;
  worker.say("", id);
  await eventually(() => shells.length > before, { what: "the worker is attached" });
  const shell = shells[before];
  if (shell === undefined) throw new Error("no shell");
  return { worker, shell };
}
const failed = (promise: Promise<unknown>): Promise<AppError> =>
  promise.then(
    () => Promise.reject(new Error("it should have failed")),
    (error: unknown) => error as AppError,
  );
/** The result of a promise so far, without waiting for it. */
function watched<Value>(promise: Promise<Value>): { value?: Value; error?: unknown } {
  const seen: { value?: Value; error?: unknown } = {};
  promise.then(
    (value) => (seen.value = value),
    (error: unknown) => (seen.error = error),
  );
  return seen;
}
/** Resolves when the worker's earlier messages have arrived: this one follows them on the same stream. */
async function arrived(worker: Worker): Promise<void> {
  await worker.tell({ id: "nothing", workerId: "nobody" });
  await settle();
}
const out = (stdout: string): Executed => ({ stdout, stderr: "" });

describe("registration", () => {
  test("the first message names the worker, and gets no answer", async () => {
    const { worker, shell } = await aWorker("5d1f");
    expect(shell).toMatchObject({ id: "5d1f", address: "127.0.0.1" });
    await settle();
    expect(worker.asked).toEqual([]);
  });

  test("any printable text is a name, even the empty one", async () => {
    expect((await aWorker("")).shell.id).toBe("");
    expect((await aWorker("ein Rechner ☃")).shell.id).toBe("ein Rechner ☃");
  });

  test.each(["x".repeat(limits.goScheduleIdLengthMax + 1), "w\u001b[31m", "w\n1"])(
    "a name that is too long, or has control characters, is refused: %j",
    async (name) => {
      const worker = openWorker(client);
      worker.say("", name);
      expect(await worker.ended).toMatchObject({ code: status.INVALID_ARGUMENT });
    },
  );

  test("a stream without a first message ends as in the old server", async () => {
    const worker = openWorker(client);
    await eventually(() => clock.timers > 0, { what: "the stream is open" });
    clock.advance(SILENCE_MS);
    expect(await worker.ended).toMatchObject({ code: status.UNKNOWN, details: SILENT });
    expect(shells).toEqual([]);
  });

  test("of two with one name the first stays, and the second is closed without an error", async () => {
    const { shell } = await aWorker("same");
    const second = openWorker(client);
    second.say("", "same");
    expect((await second.ended).code).toBe(status.OK);
    expect(shells).toHaveLength(1);
    expect(shell.closed.aborted).toBe(false);
  });

  test("a name is free again when its worker has disconnected", async () => {
    const { worker, shell } = await aWorker("same");
    worker.leave();
    expect((await worker.ended).code).toBe(status.OK);
    await eventually(() => shell.closed.aborted, { what: "the link is over" });
    await aWorker("same");
  });

  test("a refused worker receives the reason", async () => {
    attach = (shell) => shell.close(new AppError("unavailable", "not today"));
    const worker = openWorker(client);
    worker.say("", "w");
    expect(await worker.ended).toMatchObject({ code: status.UNAVAILABLE, details: "not today" });
  });

  test("an error while attaching ends the stream, and leaves no worker behind", async () => {
    attach = () => {
      throw new AppError("exhausted", "full");
    };
    const worker = openWorker(client);
    worker.say("", "w");
    expect(await worker.ended).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    attach = (shell) => void shells.push(shell);
    await aWorker("w");
  });
});

describe("life", () => {
  test("a worker is pinged with a new id each time, and lives while it answers", async () => {
    const { worker, shell } = await aWorker();
    const ids = new Set<string>();
    for (let count = 1; count <= 8; count++) {
      clock.advance(PING_MS);
      const ping = await worker.request(count);
      expect(ping).toMatchObject({ method: "ping", params: [] });
      ids.add(ping.id);
      worker.say(ping.id, "pong");
      await arrived(worker);
    }
    expect(ids.size).toBe(8);
    expect(shell.closed.aborted).toBe(false);
  });

  test("silence ends the stream and everything that was under way", async () => {
    const { worker, shell } = await aWorker();
    const running = failed(shell.exec(["sleep", "9"]));
    const there = shell.isThere();
    clock.advance(SILENCE_MS);
    expect(await worker.ended).toMatchObject({ code: status.UNKNOWN, details: SILENT });
    expect((await running).code).toBe("unavailable");
    expect(await there).toBe(false);
    expect(shell.closed.aborted).toBe(true);
    expect((await failed(shell.exec(["true"]))).code).toBe("unavailable");
    expect(await shell.isThere()).toBe(false);
  });

  test("unexpected answers are signs of life, and end nothing", async () => {
    const { worker, shell } = await aWorker();
    for (let turn = 0; turn < 4; turn++) {
      clock.advance(SILENCE_MS - 1);
      worker.say("nobody asked this", "banana");
      await arrived(worker);
    }
    expect(worker.isOver()).toBe(false);
    expect(shell.closed.aborted).toBe(false);
  });

  test("a worker whose connection is cut is disconnected at once", async () => {
    const { worker, shell } = await aWorker();
    const running = failed(shell.exec(["sleep", "9"]));
    worker.cut();
    expect((await running).code).toBe("unavailable");
    expect(shell.closed.aborted).toBe(true);
  });

  test("isThere pings, and accepts only the answer to that ping", async () => {
    const { worker, shell } = await aWorker();
    const there = shell.isThere();
    expect(shell.isThere()).toBe(there);
    const ping = await worker.request(1);
    worker.say("something else", "pong");
    const seen = watched(there);
    await settle();
    expect(seen).toEqual({});
    worker.say(ping.id, "pong");
    expect(await there).toBe(true);
    const late = shell.isThere();
    await worker.request(2);
    clock.advance(limits.goScheduleThereMsMax);
    expect(await late).toBe(false);
  });

  test("a server that stops notifies workers at once", async () => {
    const { worker, shell } = await aWorker();
    const closing = server.close();
    expect((await worker.ended).code).toBe(status.UNAVAILABLE);
    await closing;
    expect(shell.closed.aborted).toBe(true);
  });
});

describe("exec", () => {
  test("goes unchanged, and ends when the worker reports it", async () => {
    const { worker, shell } = await aWorker();
    let accepted = 0;
    const executed = shell.exec(["sh", "-c", "echo ☃"], { onAccepted: () => accepted++ });
    const request = await worker.request(1);
    expect(request).toMatchObject({ method: "exec", params: ["sh", "-c", "echo ☃"] });
    worker.say(request.id, "banana"); // whatever the text, and only once
    worker.say(request.id, "scheduled");
    await eventually(() => accepted > 0, { what: "it is accepted" });
    await worker.tell({ id: request.id, workerId: "w1", stdout: "☃\n", stderr: "err" });
    expect(await executed).toEqual({ stdout: "☃\n", stderr: "err" });
    expect(accepted).toBe(1);
  });

  test("late acknowledgements and repeated ends change nothing", async () => {
    const { worker, shell } = await aWorker();
    let accepted = 0;
    const executed = shell.exec(["true"], { onAccepted: () => accepted++ });
    const { id } = await worker.request(1);
    await worker.tell({ id, workerId: "w1", stdout: "first" });
    worker.say(id, "scheduled");
    await worker.tell({ id, workerId: "w1", stdout: "second" });
    await settle();
    expect(await executed).toEqual(out("first"));
    expect(accepted).toBe(0);
    expect(worker.isOver()).toBe(false);
  });

  test("only the worker that received an exec can report its end", async () => {
    const first = await aWorker("a");
    const second = await aWorker("b");
    const seen = watched(first.shell.exec(["true"]));
    const { id } = await first.worker.request(1);
    await second.worker.tell({ id, workerId: "b", stdout: "lie" });
    await second.worker.tell({ id, workerId: "nobody", stdout: "lie" });
    await second.worker.tell({ id: "unknown", workerId: "a", stdout: "lie" });
    await settle();
    expect(seen).toEqual({});
    await first.worker.tell({ id, workerId: "a", stdout: "truth" });
    await eventually(() => seen.value !== undefined, { what: "it has ended" });
    expect(seen.value).toEqual(out("truth"));
  });

  test("20 MB of output arrive complete", async () => {
    const { worker, shell } = await aWorker();
    const executed = shell.exec(["yes"]);
    const { id } = await worker.request(1);
    const stdout = "y\n".repeat(10_000_000);
    await worker.tell({ id, workerId: "w1", stdout });
    expect((await executed).stdout.length).toBe(stdout.length);
  });

  test("an exec that takes too long is given up, and its late end is ignored", async () => {
    const { worker, shell } = await aWorker();
    const gaveUp = failed(shell.exec(["sleep", "9"], { timeoutMs: 2_000 }));
    const { id } = await worker.request(1);
    clock.advance(2_000);
    expect((await gaveUp).code).toBe("unavailable");
    await worker.tell({ id, workerId: "w1", stdout: "late" });
    expect(worker.isOver()).toBe(false);
  });

  const unsendable: readonly [string, string[]][] = [
    ["no program", []],
    ["an empty program", [""]],
    ["an argument of 128 KiB", ["echo", "x".repeat(limits.argumentBytesMax)]],
    ["the same in characters of three bytes", ["echo", "☃".repeat(43_691)]],
    ["a NUL", ["echo", "a\0b"]],
    ["4 MiB in all", ["echo", ...Array.from({ length: 33 }, () => "x".repeat(131_071))]],
  ];
  for (const [what, argv] of unsendable) {
    test(`${what} is rejected before anything is sent`, async () => {
      const { worker, shell } = await aWorker();
      expect((await failed(shell.exec(argv))).code).toBe("invalid_argument");
      await settle();
      expect(worker.asked).toEqual([]);
      expect(worker.isOver()).toBe(false);
    });
  }

  test("the largest exec that a worker accepts is sent", async () => {
    const { worker, shell } = await aWorker();
    const argv = ["echo", ...Array.from({ length: 31 }, () => "x".repeat(131_071))];
    const executed = shell.exec(argv);
    const { id, params } = await worker.request(1);
    expect(params).toEqual(argv);
    await worker.tell({ id, workerId: "w1" });
    await executed;
  });

  test("too many at once are rejected, until some have ended", async () => {
    const { worker, shell } = await aWorker();
    const all = Array.from({ length: limits.goScheduleExecsMax }, () => shell.exec(["true"]));
    expect((await failed(shell.exec(["true"]))).code).toBe("exhausted");
    await worker.request(all.length);
    await worker.tell({ id: worker.asked[0]?.id ?? "", workerId: "w1" });
    await all[0];
    all.push(shell.exec(["true"]));
    for (const each of all.slice(1)) each.catch(() => undefined);
    await worker.request(all.length);
  });

  test("too many unacknowledged bytes are rejected, until the worker acknowledges them", async () => {
    const { worker, shell } = await aWorker();
    const large = ["echo", ...Array.from({ length: 31 }, () => "x".repeat(131_071))];
    const sent = Array.from({ length: 16 }, () => shell.exec(large));
    for (const each of sent) each.catch(() => undefined);
    expect((await failed(shell.exec(large))).code).toBe("exhausted");
    const { id } = await worker.request(16);
    // Acknowledged and ended, each reported twice: there is space for one more, not for two.
    worker.say(id, "scheduled");
    worker.say(id, "scheduled");
    await settle();
    await worker.tell({ id, workerId: "w1" });
    await worker.tell({ id, workerId: "w1" });
    shell.exec(large).catch(() => undefined);
    await worker.request(17);
    expect((await failed(shell.exec(large))).code).toBe("exhausted");
  });

  test("a worker that does not answer delays no other", async () => {
    const stuck = await aWorker("stuck");
    const quick = await aWorker("quick");
    for (let at = 0; at < 1_000; at++) stuck.shell.exec(["true"]).catch(() => undefined);
    const executed = quick.shell.exec(["true"]);
    const { id } = await quick.worker.request(1);
    await quick.worker.tell({ id, workerId: "quick" });
    expect(await executed).toEqual(out(""));
  });
});
