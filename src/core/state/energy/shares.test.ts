import { beforeEach, describe, expect, test } from "vitest";
import { aHello } from "../../../testing/builders.ts";
import { checkState, digest, readBack } from "../../../testing/check/check-state.ts";
import { World } from "../../../testing/world.ts";
import { parseGraph } from "../../graph/jgf.ts";
import { documentOf } from "../../graph/testing/documents.ts";
import { clusterId, jobId, nodeId } from "../../model/ids.ts";
import { type JobSpecInput, toJobSpec } from "../../model/job/job-spec.ts";
import { doneOf, type Task } from "../../model/job/task.ts";
import type { Power } from "../../model/node/power.ts";
import { explainJob } from "../../../server/views/explain/explain-job.ts";
import { createPolicy } from "../../scheduler/policy.ts";

let world: World;
let session = 0;

beforeEach(() => {
  world = new World();
});

const edge = (name: string, power: Partial<Power> = {}, hello: object = {}): void => {
  const own = { watts: 10, isBare: true as const, ...power };
  const at = { session: ++session, nowMs: world.nowMs };
  world.do({ kind: "connect-node", ...aHello(name, { ...at, power: own, ...hello }) });
};

const edges = (...names: string[]): void => names.forEach((name) => edge(name));

const submit = (wattSeconds: number, input: Partial<JobSpecInput> = {}): void => {
  const spec = toJobSpec({ ...input, energy: { wattSeconds, ...input.energy } });
  const submissions = [{ spec, idempotencyKey: undefined }];
  world.do({ kind: "submit-jobs", submissions, nowMs: world.nowMs, mustBePossible: true });
};

const job = (id = 1) => {
  const record = world.state.jobs.get(jobId(id));
  if (record === undefined) throw new Error(`no job ${id}`);
  return record;
};
const energy = (id = 1) => job(id).progress.energy;
const rows = (id = 1): Task[] => [...job(id).taskRows()].toSorted((a, b) => a.index - b.index);

const place = (): string[] => {
  world.settle();
  const placed = world.plan().map(({ state, share }) => {
    return `${"nodeId" in state ? state.nodeId : "?"} ${share}`;
  });
  expect(checkState(world.state)).toEqual([]);
  return placed;
};

const start = ({ jobId: id, index, attempt, state }: Task): void => {
  if ("nodeId" in state) world.report(state.nodeId ?? "", [id, index, attempt]);
};
const end = (task: Task, how: Parameters<World["report"]>[2] = { kind: "succeeded" }): void => {
  const { jobId: id, index, attempt, state } = task;
  if ("nodeId" in state) world.report(state.nodeId ?? "", [id, index, attempt], how);
};
const progress = ({ jobId: id, index, attempt, state }: Task, percent: number): void => {
  const run = { jobId: id, index, attempt };
  const by = "nodeId" in state ? state.nodeId : undefined;
  const report = { run, nodeId: by, progress: { percent, message: "" } } as never;
  world.do({ kind: "report-progress", reports: [report], nowMs: world.nowMs });
};
const lose = (node: string): void => {
  const link = world.state.nodes.get(nodeId(node))?.node.link;
  const own = link?.kind === "connected" ? link.session : 0;
  world.do({ kind: "disconnect-node", nodeId: nodeId(node), session: own, nowMs: world.nowMs });
  world.nowMs += 60_000;
  tick();
};
const tick = (): void => {
  const settings = { nodeLostAfterMs: 60_000, finishedTasksMax: 1_000, finishedAgeMsMax: 1e12 };
  world.do({ kind: "tick", nowMs: world.nowMs, settings });
};

describe("a job with energy", () => {
  test("is split over all free edges, ends with its last share, and starts with its first", () => {
    edge("a", { watts: 10 });
    edge("b", { watts: 30 });
    submit(400);
    expect(place()).toEqual(["b 300", "a 100"]);
    expect(job().progress.state).toBe("pending");
    for (const task of rows()) start(task);
    const startedAtMs = world.nowMs;
    expect(job().progress).toMatchObject({ state: "running", startedAtMs });
    world.nowMs += 9_000;
    end(rows()[0] as Task);
    expect(energy()).toMatchObject({ placed: 400, done: 300 });
    expect(job().progress.state).toBe("running");
    world.nowMs += 1_000;
    end(rows()[1] as Task);
    expect(energy()).toMatchObject({ placed: 400, done: 400 });
    const ended = { state: "succeeded", startedAtMs, lastEndAtMs: startedAtMs + 10_000 };
    expect(job().progress).toMatchObject(ended);
    world.restart();
    expect(job().progress).toMatchObject(ended);
  });

  test("with 0 watt-seconds succeeds at once, with or without nodes", () => {
    edge("c", { isBare: undefined as never });
    submit(0);
    expect(job().progress.state).toBe("succeeded");
  });

  test("with 0 watt-seconds succeeds at once, without a task", () => {
    submit(0);
    expect(job().progress).toMatchObject({ state: "succeeded", startedAtMs: world.nowMs });
    expect(job().ranges).toEqual([]);
    submit(5);
    submit(0, { dependsOn: [{ on: ["2"] }] });
    world.settle();
    expect(job(3).progress.state).toBe("pending");
    edges("a");
    place();
    start(rows(2)[0] as Task);
    world.nowMs += 500;
    end(rows(2)[0] as Task);
    world.settle();
    expect(job(3).progress).toMatchObject({ state: "succeeded", startedAtMs: world.nowMs });
    expect(checkState(world.state)).toEqual([]);
  });

  test("larger than its edges may take at once is done in rounds", () => {
    edges("a", "b");
    submit(100, { energy: { wattSeconds: 100, greatestShare: 15 } });
    let rounds = 0;
    while (job().progress.state !== "succeeded") {
      place();
      for (const task of rows().filter(({ state }) => state.kind === "assigned")) end(task);
      if (rounds++ > 20) throw new Error("it never ends");
    }
    expect(rows().every(({ share = 0 }) => share <= 15)).toBe(true);
    expect(rows().reduce((sum, { share = 0 }) => sum + share, 0)).toBe(100);
    expect(rounds).toBe(4);
  });

  test("an edge runs one share at a time, whatever else it runs", () => {
    edges("a");
    submit(10);
    submit(10);
    submit(10, { command: ["true"], resources: { cpu: 1 } });
    world.do({
      kind: "submit-jobs",
      submissions: [{ spec: toJobSpec({ command: ["true"] }), idempotencyKey: undefined }],
      nowMs: world.nowMs,
    });
    expect(place()).toEqual(["a undefined", "a 10"].toSorted());
    end(rows(1)[0] as Task);
    expect(place()).toEqual(["a 10"]);
    expect(job(2).taskRowCount).toBe(1);
  });
});

describe("the undone part of a share is split again", () => {
  test("when its edge vanishes, less the reported progress; a late report changes nothing", () => {
    edges("a", "b");
    submit(200, { energy: { wattSeconds: 200, greatestShare: 100 } });
    expect(place()).toEqual(["a 100", "b 100"]);
    for (const task of rows()) start(task);
    const [a, b] = rows() as [Task, Task];
    progress(a, 33.33);
    expect(energy()).toMatchObject({ placed: 200, done: 33 });
    lose("a");
    expect(energy()).toMatchObject({ placed: 133, done: 33, losses: 0 });
    expect(job().progress.state).toBe("running");
    world.restart();
    expect(checkState(world.state)).toEqual([]);
    edge("a", {}, { runs: [{ jobId: a.jobId, index: a.index, attempt: a.attempt }] });
    end(a); // it continued: too late
    expect(energy()).toMatchObject({ placed: 133, done: 33 });
    expect(place()).toEqual(["a 67"]);
    end(b);
    end(rows()[2] as Task);
    expect(energy()).toMatchObject({ placed: 200, done: 200 });
    expect(job().progress.state).toBe("succeeded");
    expect(rows().map(doneOf)).toEqual([33, 100, 67]);
  });

  test("when its edge has no power for a minute", () => {
    edges("a");
    submit(100);
    place();
    start(rows()[0] as Task);
    progress(rows()[0] as Task, 40);
    const at = { nodeId: nodeId("a"), session };
    const power = { watts: 0, isBare: true } as const;
    world.do({ kind: "report-power", ...at, power, nowMs: world.nowMs });
    edges("b");
    world.nowMs += 59_999;
    tick();
    expect(rows()[0]?.state.kind).toBe("running");
    world.nowMs += 1;
    tick();
    expect(rows()[0]?.state).toMatchObject({ kind: "stopping", reason: "its node has no power" });
    end(rows()[0] as Task, { kind: "stopped" });
    expect(place()).toEqual(["b 60"]);
    submit(10);
    expect(place()).toEqual([]); // "a" is free, and has no power
    world.do({
      kind: "report-power",
      nodeId: nodeId("a"),
      session: session - 1,
      power: { watts: 5, isBare: true },
      nowMs: world.nowMs,
    });
    expect(place()).toEqual(["a 10"]);
  });

  test("when a user cancels the share; cancelling the job ends all of it", () => {
    edges("a", "b");
    submit(200, { energy: { wattSeconds: 200, greatestShare: 100 } });
    place();
    const cancel = (index?: number): void => {
      world.do({
        kind: "cancel-job",
        jobId: jobId(1),
        index,
        reason: "enough",
        nowMs: world.nowMs,
      });
    };
    cancel(0);
    end(rows()[0] as Task, { kind: "stopped" });
    expect(place()).toEqual(["a 100"]);
    expect(job().progress.state).toBe("running");
    cancel();
    for (const task of rows().slice(1)) end(task, { kind: "stopped" });
    expect(job().progress.state).toBe("cancelled");
    expect(place()).toEqual([]);
    expect(() => cancel(9)).toThrow("no task 9");
  });

  test("when its command failed, all of it, after the backoff, until no retry is left", () => {
    edges("a", "b");
    const retries = { max: 1, backoffMs: 5_000 };
    submit(200, { command: ["x"], retries, energy: { wattSeconds: 200, greatestShare: 100 } });
    place();
    for (const task of rows()) start(task);
    progress(rows()[0] as Task, 90);
    end(rows()[0] as Task, 3);
    expect(energy()).toMatchObject({ placed: 100, done: 0, failures: 1 });
    expect(place()).toEqual([]);
    world.nowMs += 5_000;
    expect(place()).toEqual(["a 100"]);
    end(rows()[2] as Task, 4);
    world.settle();
    expect(job().job.closed).toMatchObject({
      kind: "failed",
      reason: "share 2 exited with code 4",
    });
    expect(rows()[1]?.state.kind).toBe("stopping");
    end(rows()[1] as Task, { kind: "stopped" });
    expect(job().progress.state).toBe("failed");
    expect(place()).toEqual([]);
  });

  test("not when its edge must not run work twice: then the job fails", () => {
    edge("a", {}, { loss: { onLost: "fail" } });
    submit(100);
    place();
    lose("a");
    world.settle();
    expect(job().progress.state).toBe("failed");
    expect(job().job.closed?.reason).toBe("share 0 lost: node a was lost");
  });
});

describe("placement of shares", () => {
  test("not on drained, full or excluded edges, nor on those that need a command", () => {
    edges("a", "b");
    edge("c", { isBare: undefined as never });
    edge("d", {}, { labels: { site: "north" } });
    world.do({ kind: "drain-node", nodeId: nodeId("a"), drain: { reason: "" } });
    submit(30, { placement: { labels: { site: "north" } } });
    expect(place()).toEqual(["d 30"]);
    submit(30);
    expect(place()).toEqual(["b 30"]);
    submit(30, { command: ["true"] });
    expect(place()).toEqual(["c 30"]);
  });

  test("no more at once than the group may run", () => {
    edges("a", "b", "c");
    world.do({ kind: "put-group", id: "g" as never, runningTasksMax: 2 });
    submit(90, { group: "g", energy: { wattSeconds: 90, greatestShare: 30 } });
    expect(place()).toHaveLength(2);
    expect(energy()).toMatchObject({ placed: 60 });
    end(rows()[0] as Task);
    expect(place()).toHaveLength(1);
  });

  test("waits for the first edge when there is none, and explain says so", () => {
    world.do({ kind: "connect-node", ...aHello("plain", { session: ++session }) });
    submit(30);
    expect(place()).toEqual([]);
    const explain = () =>
      explainJob(
        world.state,
        job(),
        createPolicy({ policy: "spread" }, () => 0),
      );
    expect(explain().reasons).toMatchObject([{ reason: "has no power", nodes: 1 }]);
    expect(explain().hints).toEqual(["add a node with power: busbar agent --power 100W"]);
    edges("a");
    submit(40);
    expect(place()).toEqual(["a 30"]);
    const about = { nowMs: world.nowMs };
    const policy = createPolicy({ policy: "spread" }, () => 0);
    // 3 s for its present share, 4 s for this one.
    const at = new Date(world.nowMs + 7_000).toISOString();
    const { summary, reasons } = explainJob(world.state, job(2), policy, about);
    expect(summary).toContain(
      `40 Ws are not placed: with the present power they would be done at ${at}`,
    );
    expect(reasons).toMatchObject([
      { reason: "busy with another share", never: false },
      { reason: "has no power", never: true },
    ]);
    expect(() => submit(9, { placement: { node: "nowhere" } })).toThrow(
      "no registered node or cluster can run this job",
    );
  });

  test("not on a pull cluster, and the reason says so", () => {
    const node = { type: "node", inside: [{ type: "core", size: 8 }] };
    const graph = parseGraph(documentOf({ type: "cluster", inside: [node] }));
    world.do({
      kind: "register-cluster",
      id: clusterId("site-a"),
      graph,
      isUpdate: false,
      nowMs: 5,
    });
    edges("a");
    submit(40);
    expect(place()).toEqual(["a 40"]);
    submit(30);
    expect(place()).toEqual([]);
    const policy = createPolicy({ policy: "spread" }, () => 0);
    const reason =
      "the job requests energy, which is split over nodes with power: a site gets its shares as a node of cluster sites";
    expect(explainJob(world.state, job(2), policy).clusters).toEqual([
      { cluster: "site-a", kind: "pulling", verdict: "never", reasons: [reason] },
    ]);
    expect(() => submit(30, { placement: { cluster: "site-a" } })).toThrow(reason);
  });

  test("rows, sums and folded jobs are the same when they are read back", () => {
    edges("a", "b");
    submit(100, { energy: { wattSeconds: 100, greatestShare: 30 } });
    for (let round = 0; round < 4; round++) {
      place();
      world.flush();
      for (const task of rows().filter(({ state }) => state.kind === "assigned")) end(task);
      world.flush();
      const read = readBack(world.changes);
      expect(checkState(read)).toEqual([]);
      expect(digest(read)).toEqual(digest(world.state));
    }
    expect(job().progress.state).toBe("succeeded");
  });
});

describe("with many free edges", () => {
  const MANY = 300;
  const looks = (): number => world.state.fleet.work.nodesLookedAt;

  test("of equal ones, no more are looked at than get shares, and each gets its turn", () => {
    for (let at = 0; at < MANY; at++) edge(`e${at}`, { tickMs: 60_000 });
    const before = looks();
    for (let at = 0; at < 20; at++) submit(400);
    const placed = place();
    expect(new Set(placed).size).toBe(20);
    expect(looks() - before).toBeLessThan(20 * 16 + 2 * MANY); // all of them are searched when the class is new
  });

  test("one whose power changes becomes a different kind", () => {
    edges("a", "b", "c");
    const power = { watts: 40, isBare: true } as const;
    const { link } = world.state.nodes.get(nodeId("b"))?.node ?? {};
    const own = link?.kind === "connected" ? link.session : 0;
    world.do({
      kind: "report-power",
      nodeId: nodeId("b"),
      session: own,
      power,
      nowMs: world.nowMs,
    });
    submit(400, { energy: { split: "fewest" } });
    expect(place()).toEqual(["b 400"]);
    submit(400, { energy: { split: "fewest" } });
    expect(place()).toEqual(["a 400"]);
  });
});
