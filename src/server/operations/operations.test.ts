import { describe, expect, test } from "vitest";
import { eventually } from "../../testing/eventually.ts";
import { readWatch } from "../../testing/read-watch.ts";
import { anObedientAgent, FakeAgent } from "../../testing/fake-agent.ts";
import { FakeClock } from "../../testing/fake-clock.ts";
import type { TestPlane } from "../../testing/plane.ts";
import { usePlanes } from "../../testing/use-planes.ts";
import type { JobSpecInput } from "../../core/model/job/job-spec.ts";
import { OutputStream } from "../../gen/busbar/v1/agent_pb.ts";
import { limits } from "../../limits.ts";
import { createMemoryStore, MemoryDisk } from "../../store/memory/memory-store.ts";
import type { WatchEventView } from "../views/views.ts";

const open = usePlanes();

async function submit(plane: TestPlane, spec: Partial<JobSpecInput> = {}): Promise<string> {
  const { jobs } = await plane.operations.submitJobs([{ spec: { command: ["true"], ...spec } }]);
  return jobs[0]?.id ?? "";
}

const isOver = (plane: TestPlane, id: string) =>
  eventually(async () => (await plane.operations.getJob(id)).endedAtMs !== undefined, {
    what: `job ${id} ends`,
  });

describe("jobs", () => {
  test("a job shows its spec, its outcome and its times", async () => {
    const { plane, clock } = await open();
    const id = await submit(plane, {
      name: "n",
      group: "g",
      labels: { a: "b" },
      array: "1-3",
      env: { X: "y" },
      resources: { cpu: 0.5, memory: 1024 },
      retries: { max: 1 },
    });
    await anObedientAgent(plane);
    await isOver(plane, id);
    expect(await plane.operations.getJob(id)).toMatchObject({
      id: "1",
      state: "succeeded",
      taskTotal: 3,
      tasks: { succeeded: 3, pending: 0 },
      exitCode: 0,
      submittedBy: "local",
      startedAtMs: clock.nowMs(), // not before it was assigned
      endedAtMs: clock.nowMs(),
      spec: {
        name: "n",
        group: "g",
        labels: { a: "b" },
        array: "1-3",
        env: { X: "y" },
        resources: { cpu: 0.5, memory: 1024 },
        command: ["true"],
        retries: { max: 1 },
      },
    });
  });

  test("all jobs of a call are accepted or none, and the error names the bad one", async () => {
    const { plane } = await open();
    const good = { spec: { command: ["true"] } };
    const bad = { spec: { command: [] } };
    const call = plane.operations.submitJobs([good, bad]);
    await expect(call).rejects.toMatchObject({
      code: "invalid_argument",
      field: "jobs[1].command",
    });
    expect((await plane.operations.listJobs({}, {})).jobs).toEqual([]);
    await expect(plane.operations.submitJobs([])).rejects.toMatchObject({ field: "jobs" });
  });

  test("an idempotency key makes a repeated call harmless, also across a restart", async () => {
    const disk = new MemoryDisk();
    const clock = new FakeClock();
    const first = await open({ store: createMemoryStore(disk), clock });
    const job = { spec: { command: ["true"] }, idempotencyKey: "k" };
    expect((await first.plane.operations.submitJobs([job])).jobs).toMatchObject([
      { id: "1", existed: false },
    ]);
    await first.plane.close();
    const second = await open({ store: createMemoryStore(disk), clock });
    const { operations } = second.plane;
    expect((await operations.submitJobs([job])).jobs).toMatchObject([{ id: "1", existed: true }]);
    const other = { ...job, spec: { command: ["false"] } };
    await expect(operations.submitJobs([other])).rejects.toMatchObject({
      code: "already_exists",
    });
    expect(await submit(second.plane)).toBe("2");
  });

  test("pages go from the newest to the oldest, each job once", async () => {
    const { plane } = await open();
    for (let at = 0; at < 25; at++) await submit(plane);
    const seen: string[] = [];
    let pageToken: string | undefined;
    do {
      const page = await plane.operations.listJobs({}, { pageSize: 10, pageToken });
      seen.push(...page.jobs.map(({ id }) => id));
      pageToken = page.nextPageToken;
      await submit(plane); // new jobs do not disturb the pages of an old listing
    } while (pageToken !== undefined);
    expect(seen).toEqual(Array.from({ length: 25 }, (_, at) => String(25 - at)));
  });

  test("filters: state, group, label, name, node", async () => {
    const { plane } = await open();
    await submit(plane, { group: "a", labels: { x: "1" } });
    await submit(plane, { group: "b", name: "special" });
    await submit(plane, { group: "a", labels: { x: "2" }, resources: { cpu: 99 } });
    await anObedientAgent(plane);
    await isOver(plane, "2");
    const ids = async (filter: object) =>
      (await plane.operations.listJobs(filter, {})).jobs.map(({ id }) => id);
    expect(await ids({ states: ["pending"] })).toEqual(["3"]);
    expect(await ids({ states: ["pending", "succeeded"] })).toEqual(["3", "2", "1"]);
    expect(await ids({ group: "a" })).toEqual(["3", "1"]);
    expect(await ids({ labels: { x: "1" } })).toEqual(["1"]);
    expect(await ids({ name: "special" })).toEqual(["2"]);
    expect(await ids({ node: "w1" })).toEqual(["2", "1"]);
    expect(await ids({ cluster: "default", group: "b" })).toEqual(["2"]);
    expect(await ids({ node: "w2" })).toEqual([]);
  });

  test("counts need no listing", async () => {
    const { plane } = await open();
    await submit(plane, { array: "0-999999", group: "big" });
    await submit(plane);
    expect(await plane.operations.countJobs()).toMatchObject({
      jobs: { pending: 2 },
      tasks: { pending: 1_000_001 },
    });
    expect((await plane.operations.countJobs("big")).tasks.pending).toBe(1_000_000);
    await expect(plane.operations.countJobs("no")).rejects.toMatchObject({ code: "not_found" });
  });

  test("tasks of an array are listed by index, with a filter, in pages", async () => {
    const { plane } = await open();
    await submit(plane, { array: "5-14", command: ["false"] });
    await anObedientAgent(plane, 7);
    await isOver(plane, "1");
    const first = await plane.operations.listTasks("1", ["failed"], { pageSize: 4 });
    expect(first.tasks.map(({ id }) => id)).toEqual(["1.5", "1.6", "1.7", "1.8"]);
    expect(first.tasks[0]).toMatchObject({ exitCode: 7, reason: "exited with code 7", node: "w1" });
    const { nextPageToken: pageToken } = first;
    const second = await plane.operations.listTasks("1", [], { pageSize: 100, pageToken });
    expect(second.tasks.length).toBe(6);
    expect(second.nextPageToken).toBeUndefined();
  });

  const bad: {
    readonly name: string;
    readonly call: (plane: TestPlane) => Promise<unknown>;
    readonly code: string;
  }[] = [
    { name: "no such job", call: (plane) => plane.operations.getJob("5"), code: "not_found" },
    { name: "no such task", call: (plane) => plane.operations.getTask("1.7"), code: "not_found" },
    {
      name: "an array has many",
      call: (plane) => plane.operations.getTask("1"),
      code: "not_found",
    },
    { name: "not an id", call: (plane) => plane.operations.getJob("x"), code: "invalid_argument" },
    {
      name: "page too large",
      call: (plane) => plane.operations.listJobs({}, { pageSize: limits.pageSizeMax + 1 }),
      code: "invalid_argument",
    },
    {
      name: "page too small",
      call: (plane) => plane.operations.listJobs({}, { pageSize: 0 }),
      code: "invalid_argument",
    },
    {
      name: "a made-up token",
      call: (plane) => plane.operations.listJobs({}, { pageToken: "zzz" }),
      code: "invalid_argument",
    },
    {
      name: "a token of another list",
      call: async (plane) =>
        plane.operations.listNodes({}, { pageToken: Buffer.from("jobs:1").toString("base64url") }),
      code: "invalid_argument",
    },
    {
      name: "cancel of nothing",
      call: (plane) => plane.operations.cancelJob("9", ""),
      code: "not_found",
    },
    {
      name: "explain of nothing",
      call: (plane) => plane.operations.explainJob("9"),
      code: "not_found",
    },
    {
      name: "no such node",
      call: (plane) => plane.operations.drainNode("w9", ""),
      code: "not_found",
    },
    {
      name: "a bad weight",
      call: (plane) => plane.operations.putGroup({ name: "g", weight: 0 }),
      code: "invalid_argument",
    },
    {
      name: "a bad group name",
      call: (plane) => plane.operations.putGroup({ name: "a b" }),
      code: "invalid_argument",
    },
    {
      name: "an owner with a control character",
      call: (plane) => plane.operations.putGroup({ name: "g", owner: "a\u001b[2J" }),
      code: "invalid_argument",
    },
    {
      name: "an owner that is too long",
      call: (plane) => plane.operations.putGroup({ name: "g", owner: "x".repeat(129) }),
      code: "invalid_argument",
    },
    {
      name: "a key with a control character",
      call: (plane) =>
        plane.operations.submitJobs([{ spec: { command: ["true"] }, idempotencyKey: "a\nb" }]),
      code: "invalid_argument",
    },
    {
      name: "a group with jobs",
      call: (plane) => plane.operations.removeGroup("busy"),
      code: "conflict",
    },
    {
      name: "too many jobs",
      call: (plane) =>
        plane.operations.submitJobs(
          Array.from({ length: limits.submitJobsMax + 1 }, () => ({ spec: { command: ["true"] } })),
        ),
      code: "invalid_argument",
    },
  ];
  for (const { name, call, code } of bad) {
    test(`rejected: ${name}`, async () => {
      const { plane } = await open();
      await submit(plane, { array: "0-1", group: "busy" });
      const before = (await plane.operations.stats()).revision;
      await expect(call(plane)).rejects.toMatchObject({ code });
      expect((await plane.operations.stats()).revision).toBe(before);
    });
  }

  test("explain distinguishes an unsatisfiable job from a pending one, and from one whose group is full", async () => {
    const { plane } = await open();
    const hopeless = await submit(plane, { resources: { cpu: 10_000 } });
    expect((await plane.operations.explainJob(hopeless)).summary).toContain("no node has joined");
    const agent = new FakeAgent(plane);
    agent.hello("w1", { capacity: { cpu: 1_000 } });
    await eventually(() => agent.told.includes("welcome"), { what: "welcome" });
    const running = await submit(plane);
    const waiting = await submit(plane);
    expect(await plane.operations.explainJob(hopeless)).toMatchObject({
      summary: "1 task waits: no registered node can run it",
      reasons: [{ reason: "too small: has 1 cpu, 10000 cpu requested", nodes: 1, never: true }],
    });
    expect(await plane.operations.explainJob(waiting)).toMatchObject({
      summary: "1 task waits: 1 node could run it later",
      ahead: 1,
    });
    expect((await plane.operations.explainJob(running)).summary).toBe(
      "it was assigned to node w1 0s ago, which has not reported its start yet",
    );
    await plane.operations.putGroup({ name: "default", runningTasksMax: 1 });
    expect((await plane.operations.explainJob(waiting)).summary).toContain("limit of");
  });

  test("an unsatisfiable job is rejected, or accepted with a warning when the caller allows it", async () => {
    const { plane } = await open();
    await anObedientAgent(plane);
    const spec = { command: ["true"], resources: { cpu: 10_000 } };
    await expect(plane.operations.submitJobs([{ spec }])).rejects.toMatchObject({
      code: "unschedulable",
      field: "jobs[0]",
      message: expect.stringContaining("10000 cpu requested") as string,
    });
    const allowed = { allowUnsatisfiable: true };
    const { jobs } = await plane.operations.submitJobs([{ spec }], allowed);
    expect(jobs[0]?.warning).toContain("no registered node or cluster can run this job");
  });
});

describe("watch", () => {
  async function collect(
    plane: TestPlane,
    query: object,
    until: (event: WatchEventView) => boolean,
  ): Promise<WatchEventView[]> {
    const seen: WatchEventView[] = [];
    for await (const event of readWatch(plane.operations, query, new AbortController().signal)) {
      seen.push(event);
      if (until(event)) break;
    }
    return seen;
  }

  test("events of a job arrive in order, and a watch resumes from any revision", async () => {
    const { plane } = await open();
    const isEnd = (event: WatchEventView): boolean =>
      event.kind === "job" && event.job.state === "succeeded";
    const live = collect(plane, { jobId: "1" }, isEnd);
    await anObedientAgent(plane);
    await submit(plane);
    const seen = await live;
    const kinds = seen.map((event) => (event.kind === "task" ? event.task.state : event.kind));
    expect(kinds).toEqual(["sync", "assigned", "job", "succeeded", "job"]);
    const at = seen[1]?.revision ?? 0;
    const again = await collect(plane, { jobId: "1", afterRevision: at }, isEnd);
    expect(again.slice(1)).toEqual(seen.filter(({ revision }) => revision > at));
  });

  test("kinds and groups filter events; a future revision is rejected", async () => {
    const { plane } = await open();
    const live = collect(plane, { kinds: ["job"], group: "b" }, ({ kind }) => kind === "job");
    await submit(plane, { group: "a" });
    await submit(plane, { group: "b" });
    const seen = await live;
    expect(seen.map((event) => (event.kind === "job" ? event.job.id : event.kind))).toEqual([
      "sync",
      "2",
    ]);
    await expect(collect(plane, { afterRevision: 99 }, () => true)).rejects.toMatchObject({
      code: "unprocessable",
    });
    expect((await plane.operations.stats()).watches).toBe(0);
  });
});

describe("output", () => {
  test("is read from the agent in pieces until its end", async () => {
    const { plane } = await open();
    const agent = new FakeAgent(plane);
    const text = Buffer.from("hello world");
    agent.onOutput = ({ request, offset, stream }) => {
      const data =
        stream === OutputStream.STDOUT ? text.subarray(offset, offset + 4) : Buffer.alloc(0);
      agent.say({ case: "output", value: { request, data, eof: offset + 4 >= text.length } });
    };
    agent.hello("w1");
    await eventually(() => agent.told.includes("welcome"), { what: "welcome" });
    const id = await submit(plane);
    await eventually(() => agent.told.includes("start 1.0#1"), { what: "start" });
    let read = "";
    const query = { taskId: id, stream: "stdout", follow: true } as const;
    for await (const { data } of plane.operations.readOutput(query, new AbortController().signal)) {
      read += Buffer.from(data).toString();
    }
    expect(read).toBe("hello world");
  });

  test("of a task that has not run is rejected; of a disconnected node too", async () => {
    const { plane } = await open();
    const id = await submit(plane);
    const read = async (): Promise<void> => {
      const query = { taskId: id, stream: "stdout" } as const;
      for await (const part of plane.operations.readOutput(query, new AbortController().signal)) {
        expect(part).toBeDefined();
      }
    };
    await expect(read()).rejects.toMatchObject({ code: "not_found" });
    const agent = new FakeAgent(plane);
    agent.hello("w1");
    await eventually(() => agent.told.includes("start 1.0#1"), { what: "start" });
    agent.hangUp();
    await expect(read()).rejects.toMatchObject({ code: "unavailable" });
  });
});
