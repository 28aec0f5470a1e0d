import { type Client, status } from "@grpc/grpc-js";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../../testing/eventually.ts";
import { anObedientAgent, FakeAgent } from "../../../testing/fake-agent.ts";
import { aPlane, type TestPlane } from "../../../testing/plane.ts";
import { OutputStream } from "../../../gen/busbar/v1/agent_pb.ts";
import { Scheduler } from "../../../gen/goschedule/v1/scheduler_pb.ts";
import { limits } from "../../../limits.ts";
import type { NewestTasksQuery } from "../../../server/operations/operations.ts";
import { createSystemClock } from "../../../system/clock.ts";
import { createSystemRandom } from "../../../system/random.ts";
import { createGrpcServer, type GrpcServer } from "../../grpc/server.ts";
import { call, callRaw, connect, failure, pathOf } from "../../grpc/testing/grpc-client.ts";
import { silentLogger } from "../../../testing/silent-logger.ts";
import { Previews } from "./previews.ts";
import { schedule as scheduleTasks } from "../schedule.ts";
import { goScheduleService } from "../service.ts";
import { listTasks } from "./task-list.ts";
import { START_BYTES } from "../texts.ts";

const rpc = Scheduler.method;
let plane: TestPlane;
let previews: Previews;
let server: GrpcServer;
let client: Client;
beforeEach(async () => {
  ({ plane } = await aPlane());
  previews = new Previews();
  const service = goScheduleService({
    operations: plane.operations,
    clock: createSystemClock(),
    random: createSystemRandom(),
    logger: silentLogger,
    previews,
    settings: { pingMs: 3_000, silenceMs: 10_000 },
    attach: () => undefined,
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
  await plane.close();
});

const schedule = (...tasks: [cmd: string, ...parameters: string[]][]) =>
  call(client, rpc.schedule, {
    tasks: tasks.map(([cmd, ...parameters]) => ({ id: "dummy", cmd, parameters })),
  });
const list = async () => (await call(client, rpc.getTaskList, { id: "dummy" })).tasks;
const workers = async () => (await call(client, rpc.getWorkerList, { id: "dummy" })).nodes;
const jobCount = async () => (await plane.operations.countJobs()).jobs.pending;
const ended = (id: string) =>
  eventually(async () => (await plane.operations.getJob(id)).endedAtMs !== undefined, {
    what: `job ${id} ends`,
  });

describe("Schedule", () => {
  test("accepts tasks without any worker, and answers in their order", async () => {
    const { tasks } = await schedule(["sh", "-c", "echo ☃", ""], ["/bin/true"]);
    expect(tasks).toMatchObject([
      { id: "1", cmd: "sh", parameters: ["-c", "echo ☃", ""], state: "pending", workerId: "" },
      { id: "2", cmd: "/bin/true", parameters: [], state: "pending" },
    ]);
    const { spec, submittedBy } = await plane.operations.getJob("1");
    expect(spec).toMatchObject({ name: "sh", command: ["sh", "-c", "echo ☃", ""] });
    expect(spec.timeLimitMs).toBeUndefined();
    expect(submittedBy).toBe("go-schedule");
    expect((await plane.operations.getJob("2")).spec.name).toBe("true");
  });

  test("accepts tasks that no connected worker can run: others may connect", async () => {
    new FakeAgent(plane).hello("tiny", { capacity: { cpu: 500 } });
    await eventually(async () => (await workers()).length === 1, { what: "it is there" });
    expect((await schedule(["true"])).tasks).toMatchObject([{ id: "1", state: "pending" }]);
  });

  test("gives tasks the configured time limit", async () => {
    const tasks = [{ cmd: "true", parameters: [] }];
    await scheduleTasks(plane.operations, tasks, { timeLimitMs: 60_000 });
    expect((await plane.operations.getJob("1")).spec.timeLimitMs).toBe(60_000);
  });

  test("of no tasks answers with none", async () => {
    expect((await schedule()).tasks).toEqual([]);
  });

  const long = "x".repeat(limits.workBytesMax);
  const refusals: readonly [string, [string, ...string[]][], RegExp][] = [
    ["an empty cmd", [["true"], ["true"], ["true"], [""]], /^tasks\[3\]\.cmd: must name/],
    ["a NUL in cmd", [["a\0b"]], /^tasks\[0\]\.cmd: /],
    ["a NUL in a parameter", [["true"], ["echo", "a", "b\0"]], /^tasks\[1\]\.parameters\[1\]: /],
    ["too much", [["echo", long]], /^tasks\[0\]\.?\w*: /],
  ];
  for (const [what, tasks, text] of refusals) {
    test(`${what} is rejected, and no task is accepted`, async () => {
      const error = await failure(schedule(...tasks));
      expect(error.code).toBe(status.INVALID_ARGUMENT);
      expect(error.details).toMatch(text);
      expect(await jobCount()).toBe(0);
    });
  }

  test("20,000 tasks at once are accepted, one more is not", async () => {
    const tasks = Array.from({ length: 20_000 }, (): [string] => ["true"]);
    const answer = await schedule(...tasks);
    expect(answer.tasks.map(({ id }) => id)).toEqual(tasks.map((_, at) => String(at + 1)));
    const error = await failure(schedule(...tasks, ["true"]));
    expect(error.code).toBe(status.INVALID_ARGUMENT);
    expect(error.details).toContain("tasks: at most 20000 in one call, not 20001");
    expect(await jobCount()).toBe(20_000);
  });

  test("when tasks do not fit an answer with their commands, the answer leaves the commands out", async () => {
    const tasks = Array.from({ length: 6 }, (): [string, string] => ["echo", "x".repeat(900_000)]);
    const answer = await schedule(...tasks);
    expect(answer.tasks).toHaveLength(6);
    expect(answer.tasks[0]).toMatchObject({ id: "1", cmd: "", parameters: [], state: "pending" });
  });

  test("bytes that are no list are rejected", async () => {
    const error = await failure(callRaw(client, pathOf(rpc.schedule), Buffer.from([0x0a, 0x7f])));
    expect(error.code).toBe(status.INVALID_ARGUMENT);
  });
});

describe("GetTaskList", () => {
  test("shows tasks of all doors, newest first, each of an array", async () => {
    await schedule(["true"]);
    await plane.operations.submitJobs([
      { spec: { command: ["hostname"], array: "0-1" } },
      { spec: { script: "date", name: "s" } },
    ]);
    expect(await list()).toMatchObject([
      { id: "3", cmd: "s", state: "pending" },
      { id: "2.0", cmd: "hostname" },
      { id: "2.1", cmd: "hostname" },
      { id: "1", cmd: "true", parameters: [], stdout: "", stderr: "", workerId: "" },
    ]);
  });

  test("shows where they ran, and why they failed", async () => {
    await schedule(["false"], ["true"]);
    await plane.operations.cancelJob("2", "not\nwanted");
    await anObedientAgent(plane, 3);
    await ended("1");
    previews.put(
      { jobId: "1", index: 0, attempt: 1 },
      { stdout: Buffer.from("out\n"), stderr: Buffer.alloc(30, 0xff) },
    );
    expect(await list()).toMatchObject([
      { id: "2", state: "dead", workerId: "", workerError: "not␊wanted", stdout: "" },
      {
        id: "1",
        state: "done",
        workerId: "w1",
        workerError: "exited with code 3",
        stdout: "out",
        stderr: "\ufffd".repeat(6),
      },
    ]);
  });

  test("reads the outputs of the newest ended tasks", async () => {
    await schedule(
      ...Array.from({ length: limits.previewsPerListMax + 50 }, (): [string] => ["true"]),
    );
    const agent = await anObedientAgent(plane);
    let asked = 0;
    agent.onOutput = ({ request, id, stream, offset, maxBytes }) => {
      asked++;
      expect(maxBytes).toBe(START_BYTES);
      const text = stream === OutputStream.STDOUT ? `out of ${id?.job}` : "";
      const data = Buffer.from(text).subarray(offset);
      agent.say({ case: "output", value: { request, data, eof: true } });
    };
    await ended("250");
    await ended("1");
    const tasks = await list();
    expect(tasks).toHaveLength(250);
    expect(tasks[0]).toMatchObject({ id: "250", state: "done", stdout: "out of 250" });
    expect(tasks.filter(({ stdout }) => stdout !== "")).toHaveLength(limits.previewsPerListMax);
    expect(asked).toBe(2 * limits.previewsPerListMax);
    // The next list reads some more.
    expect((await list()).every(({ stdout }) => stdout !== "")).toBe(true);
  });

  test("long commands are truncated", async () => {
    await schedule(["sh", "-c", "☃".repeat(5_000), "more"]);
    const [task] = await list();
    expect(task?.cmd).toBe("sh");
    expect(task?.parameters).toHaveLength(2);
    expect(Buffer.byteLength(task?.parameters[1] ?? "")).toBeLessThan(limits.listedCommandBytesMax);
  });

  test("of 60,000 tasks it leaves out the oldest ended ones, and stays below 4 MiB", async () => {
    await plane.operations.submitJobs([
      { spec: { command: ["true"], name: "old" }, idempotencyKey: "oldest" },
      { spec: { command: ["echo", "x".repeat(90)], array: "0-59999" } },
    ]);
    await plane.operations.submitJobs([{ spec: { command: ["true"] } }]);
    await plane.operations.cancelJob("2", "not wanted");
    const bytes = await callRaw(client, pathOf(rpc.getTaskList), Buffer.alloc(0));
    expect(bytes.length).toBeLessThan(4 * 1024 * 1024);
    expect(bytes.length).toBeGreaterThan(4 * 1024 * 1024 - 128 * 1024);
    const tasks = await list();
    expect(tasks.length).toBeGreaterThan(20_000);
    expect(tasks.length).toBeLessThan(60_000);
    // The newest first; the oldest has not ended, and was not displaced.
    expect([tasks[0]?.id, tasks[1]?.id, tasks.at(-1)?.id]).toEqual(["3", "2.0", "1"]);
    expect(tasks[1]?.state).toBe("dead");
  });

  test("when no more ended tasks fit, it does not read them, nor anything after the last", async () => {
    await plane.operations.submitJobs([{ spec: { command: ["true"], array: "0-99999" } }]);
    await plane.operations.cancelJob("1", "x".repeat(200));
    await schedule(["true"]);
    const asked: boolean[] = [];
    const operations = {
      ...plane.operations,
      listNewestTasks: (query: NewestTasksQuery) => {
        asked.push(query.isOpenOnly);
        return plane.operations.listNewestTasks(query);
      },
    };
    await listTasks({ operations, previews, clock: createSystemClock() });
    expect(asked.length).toBeLessThan(50);
    expect(asked.every((isOpenOnly) => !isOpenOnly)).toBe(true);
    await plane.operations.submitJobs([{ spec: { command: ["true"], array: "0-99999" } }]);
    await plane.operations.cancelJob("3", "x".repeat(200));
    asked.length = 0;
    await listTasks({ operations, previews, clock: createSystemClock() });
    // Task 2 comes after the ended tasks.
    expect(asked.at(-1)).toBe(true);
  });

  test("when more active tasks exist than fit, it shows the newest", async () => {
    await plane.operations.submitJobs([
      { spec: { command: ["echo", "x".repeat(200)], array: "0-29999" } },
      { spec: { command: ["true"] } },
    ]);
    const tasks = await list();
    expect(tasks.length).toBeLessThan(30_000);
    expect([tasks[0]?.id, tasks[1]?.id]).toEqual(["2", "1.0"]);
  });
});

describe("GetWorkerList", () => {
  test("shows all nodes", async () => {
    expect(await workers()).toEqual([]);
    await anObedientAgent(plane);
    const other = new FakeAgent(plane, "10.0.0.7");
    other.hello("gs-other");
    await eventually(async () => (await workers()).length === 2, { what: "both are there" });
    await schedule(["true"]);
    other.hangUp();
    await eventually(async () => (await workers())[0]?.state === "disconnected", {
      what: "one is gone",
    });
    expect(await workers()).toMatchObject([
      { id: "gs-other", address: "10.0.0.7", state: "disconnected" },
      { id: "w1", address: "TBD", state: "connected" },
    ]);
  });

  test("counts the tasks that run there", async () => {
    const agent = new FakeAgent(plane);
    agent.hello("busy");
    await schedule(["sleep"], ["sleep"]);
    await eventually(async () => (await workers())[0]?.ntasks === 2n, { what: "two run there" });
  });
});
