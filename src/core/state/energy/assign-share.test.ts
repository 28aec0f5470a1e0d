import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aHello } from "../../../testing/builders.ts";
import { checkState, digest, readBack } from "../../../testing/check/check-state.ts";
import { World } from "../../../testing/world.ts";
import { AppError } from "../../../lib/errors.ts";
import { type JobId, jobId, nodeId } from "../../model/ids.ts";
import { toJobSpec } from "../../model/job/job-spec.ts";
import { isActive, type Task } from "../../model/job/task.ts";
import { isJobEnded } from "../../model/progress.ts";

const NODES = ["a", "b", "c"];
let session = 0;

const connect = (world: World, name: string): void => {
  const power = { watts: 10, isBare: true as const };
  const at = { session: ++session, nowMs: world.nowMs };
  world.do({ kind: "connect-node", ...aHello(name, { ...at, power }) });
};

const submit = (world: World, wattSeconds: number, retries = 0): void => {
  const spec = toJobSpec({ energy: { wattSeconds }, retries: { max: retries } });
  const submissions = [{ spec, idempotencyKey: undefined }];
  world.do({ kind: "submit-jobs", submissions, nowMs: world.nowMs });
};

const aWorld = (...energies: number[]): World => {
  const world = new World();
  world.isEnergyExternal = true;
  for (const name of NODES) connect(world, name);
  for (const energy of energies) submit(world, energy);
  return world;
};

const assign = (world: World, job: number, node: string, wattSeconds: number) =>
  world.do({
    kind: "assign-share",
    jobId: jobId(job),
    nodeId: nodeId(node),
    wattSeconds,
    nowMs: world.nowMs,
  });

const open = (world: World): Task[] =>
  [...world.state.jobs.openRecords()].flatMap((record) => [...record.openTaskRows()]);

const rowsOf = (world: World, id: JobId): Task[] => [
  ...(world.state.jobs.get(id)?.taskRows() ?? []),
];

test("the planner ignores jobs with energy while an external scheduler assigns them, and resumes afterwards", () => {
  const world = aWorld(100);
  world.flush(); // folded, as it only waits
  expect(world.plan()).toEqual([]);
  expect(assign(world, 1, "b", 100)).toEqual({ index: 0, wattSeconds: 100 });
  expect(checkState(world.state)).toEqual([]);
  submit(world, 50);
  expect(world.plan()).toEqual([]);
  world.restart();
  expect(world.plan()).toEqual([]);
  world.isEnergyExternal = false;
  world.restart();
  expect(world.plan().reduce((sum, { share = 0 }) => sum + share, 0)).toBe(50);
  expect(checkState(world.state)).toEqual([]);
});

test("a share is at most what is left, and what the job and the node accept at once", () => {
  const world = aWorld(100);
  const power = { watts: 10, isBare: true as const, greatestShare: 30 };
  const at = { session: ++session, nowMs: world.nowMs };
  world.do({ kind: "connect-node", ...aHello("small", { ...at, power }) });
  expect(assign(world, 1, "small", 100)).toEqual({ index: 0, wattSeconds: 30 });
  expect(assign(world, 1, "a", 50)).toEqual({ index: 1, wattSeconds: 50 });
  expect(assign(world, 1, "b", 100)).toEqual({ index: 2, wattSeconds: 20 });
  expect(() => assign(world, 1, "c", 1)).toThrow("all of its energy is assigned already");
});

test("refusals name the reason, and change nothing", () => {
  const world = aWorld(100);
  const spec = toJobSpec({ command: ["true"] });
  world.do({
    kind: "submit-jobs",
    submissions: [{ spec, idempotencyKey: undefined }],
    nowMs: world.nowMs,
  });
  assign(world, 1, "a", 10);
  world.do({ kind: "drain-node", nodeId: nodeId("b"), drain: { reason: "" } });
  const before = digest(world.state);
  for (const [args, why] of [
    [[9, "a", 1], "there is no job 9"],
    [[2, "c", 1], "job 2 requests no energy"],
    [[1, "x", 1], "there is no node x"],
    [[1, "c", 0], "must be a whole number from 1"],
    [[1, "c", 1.5], "must be a whole number from 1"],
    [[1, "c", 101], "is more than the 100 watt-seconds of job 1"],
    [[1, "a", 1], "node a: busy with another share"],
    [[1, "b", 1], "node b: drained"],
  ] as const) {
    const [job, node, wattSeconds] = args;
    expect(() => assign(world, job, node, wattSeconds)).toThrow(why);
  }
  expect(digest(world.state)).toEqual(before);
  world.do({
    kind: "cancel-job",
    jobId: jobId(1),
    index: undefined,
    reason: "",
    nowMs: world.nowMs,
  });
  expect(() => assign(world, 1, "c", 1)).toThrow("it is cancelled");
});

describe("a job with one failed share too many gets no more shares, and is given up", () => {
  const failFirst = (world: World): void => {
    world.report("a", [1, 0, 1], { kind: "stopped" }); // without a request to stop it
    expect(checkState(world.state)).toEqual([]);
    const why = "too many of its shares failed, and it is given up";
    expect(() => assign(world, 1, "c", 1)).toThrow(why);
    world.isEnergyExternal = false;
    expect(world.plan()).toEqual([]);
    expect(checkState(world.state)).toEqual([]);
    world.restart();
    expect(world.plan()).toEqual([]);
    expect(checkState(world.state)).toEqual([]);
    world.settle();
    expect(world.state.jobs.get(jobId(1))?.job.closed?.kind).toBe("failed");
    expect(checkState(world.state)).toEqual([]);
  };

  test("where all of it was assigned", () => {
    const world = aWorld(50);
    assign(world, 1, "a", 40);
    assign(world, 1, "b", 10);
    world.plan(); // it leaves its lane
    failFirst(world);
    expect(rowsOf(world, jobId(1)).map(({ state }) => state.kind)).toEqual(["failed", "stopping"]);
  });

  test("where some of it was not, so that it is in the queue", () => {
    const world = aWorld(50);
    assign(world, 1, "a", 40);
    failFirst(world);
  });
});

type Step =
  | { kind: "assign"; job: number; node: number; wattSeconds: number }
  | { kind: "start" | "progress" | "succeed" | "stop"; at: number; percent: number }
  | { kind: "lose" | "connect"; node: number }
  | { kind: "plan" | "settle" | "flush" | "restart" };

const node = fc.nat(NODES.length - 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("assign" as const),
      job: fc.integer({ min: 1, max: 3 }),
      node,
      wattSeconds: fc.integer({ min: 1, max: 60 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom<"start" | "progress" | "succeed" | "stop">(
        "start",
        "progress",
        "succeed",
        "stop",
      ),
      at: fc.nat(5),
      percent: fc.nat(100),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom<"lose" | "connect">("lose", "connect"), node }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom<"plan" | "settle" | "flush" | "restart">(
        "plan",
        "settle",
        "flush",
        "restart",
      ),
    }),
  },
);

function take(world: World, given: Step): void {
  const tasks = open(world).filter(({ state }) => isActive(state));
  switch (given.kind) {
    case "assign":
      assign(world, given.job, NODES[given.node] ?? "", given.wattSeconds);
      return;
    case "lose":
    case "connect": {
      const name = NODES[given.node] ?? "";
      const link = world.state.nodes.get(nodeId(name))?.node.link;
      if (given.kind === "connect") {
        if (link?.kind !== "connected") connect(world, name);
        return;
      }
      const own = link?.kind === "connected" ? link.session : 0;
      world.do({ kind: "disconnect-node", nodeId: nodeId(name), session: own, nowMs: world.nowMs });
      world.nowMs += 60_000;
      const settings = { nodeLostAfterMs: 60_000, finishedTasksMax: 1_000, finishedAgeMsMax: 1e12 };
      world.do({ kind: "tick", nowMs: world.nowMs, settings });
      return;
    }
    case "plan":
      expect(world.plan()).toEqual([]);
      return;
    case "settle":
      world.settle();
      return;
    case "flush":
      world.flush();
      return;
    case "restart":
      world.restart();
      return;
    case "start":
    case "progress":
    case "succeed":
    case "stop": {
      const task = tasks[given.at % Math.max(1, tasks.length)];
      if (task === undefined || !("nodeId" in task.state)) return;
      const { jobId: job, index, attempt } = task;
      const node = task.state.nodeId ?? "";
      if (given.kind === "progress")
        world.progress(node, [job, index, attempt], { percent: given.percent, message: "" });
      else if (given.kind === "start") world.report(node, [job, index, attempt]);
      else {
        const how = given.kind === "succeed" ? "succeeded" : "stopped";
        world.report(node, [job, index, attempt], { kind: how });
      }
    }
  }
}

const ENERGIES = [50, 33, 7];

/** The server runs without the flag again, and every running share succeeds. */
function finish(world: World): void {
  world.isEnergyExternal = false;
  world.restart();
  for (const name of NODES) connect(world, name);
  for (let round = 0; round < 20; round++) {
    world.nowMs += 1e9; // no backoff is as long
    world.settle();
    world.plan();
    for (const { state, jobId: job, index, attempt } of open(world)) {
      if (isActive(state)) world.report(state.nodeId, [job, index, attempt], { kind: "succeeded" });
    }
  }
}

test("under any sequence of assignments, ends and losses, shares never exceed their job, and all of it can be done while it has retries", () => {
  const retries = fc.constantFrom(0, 1, 1_000);
  fc.assert(
    fc.property(retries, fc.array(step, { maxLength: 40 }), (most, steps) => {
      const world = aWorld();
      for (const energy of ENERGIES) submit(world, energy, most);
      for (const given of steps) {
        try {
          take(world, given);
        } catch (error) {
          if (!(error instanceof AppError)) throw error; // a refusal
        }
        expect(checkState(world.state)).toEqual([]);
        expect(digest(readBack(world.changes))).toEqual(digest(world.state));
        for (const [at, energy] of ENERGIES.entries()) {
          const { placed = 0 } = world.state.jobs.get(jobId(at + 1))?.progress.energy ?? {};
          expect(placed).toBeLessThanOrEqual(energy);
        }
      }
      finish(world);
      for (const [at, energy] of ENERGIES.entries()) {
        const { progress } = world.state.jobs.get(jobId(at + 1)) ?? {};
        if ((progress?.energy?.failures ?? 0) > most) {
          expect(progress?.state).toBe("failed");
          continue;
        }
        expect(progress?.energy).toMatchObject({ placed: energy, done: energy });
        expect(progress !== undefined && isJobEnded(progress)).toBe(true);
        expect(rowsOf(world, jobId(at + 1)).length).toBeGreaterThan(0);
      }
    }),
    { numRuns: 60 },
  );
});
