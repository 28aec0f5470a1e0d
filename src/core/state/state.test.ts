import type { Change } from "./change.ts";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aHello, aSpec } from "../../testing/builders.ts";
import { allJobs } from "./checks/all-jobs.ts";
import { checkState, digest, readBack } from "../../testing/check/check-state.ts";
import { World } from "../../testing/world.ts";
import { AppError } from "../../lib/errors.ts";
import { TABLES } from "./tables/tables.ts";
import { jobId, nodeId } from "../model/ids.ts";
import type { NodeFacts } from "../model/node/node-facts.ts";
import { NO_FACTS } from "../model/node/node-facts.ts";
import { isActive } from "../model/job/task.ts";
import { runs } from "../../testing/runs.ts";
import { removeServices, runServiceStep, serviceStep } from "./services/testing/service-steps.ts";

const NODES = ["n1", "n2", "n3"];

/** Anything that can happen, in any order: most of it makes sense, some of it is refused. */
const step = fc.oneof(
  serviceStep,
  fc.record({
    do: fc.constant("submit" as const),
    cpu: fc.integer({ min: 1, max: 5 }),
    size: fc.integer({ min: 0, max: 4 }),
    priority: fc.integer({ min: -1, max: 1 }),
    group: fc.constantFrom("a", "b"),
    retries: fc.integer({ min: 0, max: 2 }),
    deadline: fc.option(fc.integer({ min: 1, max: 20_000 }), { nil: undefined }),
    after: fc.option(
      fc.record({
        kind: fc.constantFrom("afterok", "afterany", "afternotok", "after"),
        back: fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }),
      }),
      { nil: undefined, freq: 2 },
    ),
  }),
  fc.record({
    do: fc.constant("connect" as const),
    node: fc.constantFrom(...NODES),
    forgets: fc.boolean(),
    os: fc.constantFrom(undefined, "debian", "rocky"),
  }),
  fc.record({
    do: fc.constant("facts" as const),
    node: fc.constantFrom(...NODES),
    os: fc.constantFrom("debian", "rocky"),
    old: fc.boolean(),
  }),
  fc.record({ do: fc.constant("disconnect" as const), node: fc.constantFrom(...NODES) }),
  fc.record({ do: fc.constant("flush" as const) }),
  fc.record({ do: fc.constant("plan" as const), max: fc.integer({ min: 1, max: 8 }) }),
  fc.record({
    do: fc.constant("report" as const),
    pick: fc.nat(50),
    code: fc.constantFrom(undefined, 0, 0, 1, {
      kind: "node-fault",
      message: "disk full",
    } as const),
    old: fc.boolean(),
  }),
  fc.record({
    do: fc.constant("progress" as const),
    pick: fc.nat(50),
    percent: fc.constantFrom(0, 12.34, 50, 99.99, 100),
    isCaller: fc.boolean(),
    old: fc.boolean(),
  }),
  fc.record({
    do: fc.constant("cancel" as const),
    job: fc.integer({ min: 1, max: 8 }),
    index: fc.option(fc.nat(3), { nil: undefined }),
  }),
  fc.record({
    do: fc.constant("drain" as const),
    node: fc.constantFrom(...NODES),
    on: fc.boolean(),
  }),
  fc.record({
    do: fc.constant("health" as const),
    node: fc.constantFrom(...NODES),
    sickness: fc.constantFrom(undefined, "disk full", "no processes"),
  }),
  fc.record({
    do: fc.constant("note" as const),
    id: fc.constantFrom("Job/1", "Edge/n1"),
    label: fc.option(fc.constantFrom("a", "b"), { nil: undefined }),
    ifVersion: fc.constantFrom(undefined, undefined, 0, 1),
  }),
  fc.record({ do: fc.constant("remove" as const), node: fc.constantFrom(...NODES) }),
  fc.record({
    do: fc.constant("wait" as const),
    ms: fc.integer({ min: 1, max: 90_000 }),
    keep: fc.nat(6),
  }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

let session = 0;

const factsWith = (os: string): NodeFacts => ({
  ...NO_FACTS,
  cores: 1_000,
  gpus: 9,
  software: { os: [{ name: os }] },
});

/** On the last few jobs. */
const dependsOn = (after: { kind: string; back: number[] } | undefined, last: number) =>
  after === undefined || last === 0
    ? undefined
    : [{ kind: after.kind, on: after.back.map((back) => String(Math.max(1, last - back))) }];

function run(world: World, one: Step): void {
  const { nowMs } = world;
  const active = [...allJobs(world.state)].flatMap((record) =>
    [...record.taskRows()].filter((task) => isActive(task.state)),
  );
  switch (one.do) {
    case "submit": {
      const spec = aSpec({
        resources: { cpu: one.cpu },
        array: one.size === 0 ? undefined : `0-${one.size}`,
        priority: one.priority,
        group: one.group,
        retries: { max: one.retries, backoffMs: 500 },
        queueDeadlineMs: one.deadline,
        dependsOn: dependsOn(one.after, world.state.counter.lastJobId),
      });
      world.do({
        kind: "submit-jobs",
        submissions: [{ spec, idempotencyKey: undefined }],
        by: "t",
        nowMs,
      });
      return;
    }
    case "service":
      runServiceStep(world, one);
      return;
    case "note": {
      const { id, label, ifVersion } = one;
      const note = label === undefined ? undefined : { labels: { label }, annotations: {} };
      world.do({ kind: "put-notes", notes: [{ id, note, ifVersion }] });
      return;
    }
    case "connect": {
      const there = active.filter((task) => isActive(task.state) && task.state.nodeId === one.node);
      const runs = one.forgets
        ? []
        : there.map(({ jobId: id, index, attempt }) => ({ jobId: id, index, attempt }));
      const facts = one.os === undefined ? undefined : factsWith(one.os);
      world.do({
        kind: "connect-node",
        ...aHello(one.node, { runs, session: ++session, nowMs, facts }),
      });
      return;
    }
    case "facts": {
      const link = world.state.nodes.get(nodeId(one.node))?.node.link;
      const number = link?.kind === "connected" ? link.session - (one.old ? 1 : 0) : 0;
      const facts = factsWith(one.os);
      world.do({ kind: "put-facts", nodeId: nodeId(one.node), session: number, facts });
      return;
    }
    case "disconnect": {
      const link = world.state.nodes.get(nodeId(one.node))?.node.link;
      const number = link?.kind === "connected" ? link.session : 0;
      world.do({ kind: "disconnect-node", nodeId: nodeId(one.node), session: number, nowMs });
      return;
    }
    case "flush":
      world.flush();
      return;
    case "plan":
      world.settle(one.max);
      world.plan(one.max);
      return;
    case "report": {
      const task = active[one.pick % Math.max(1, active.length)];
      if (task === undefined || !isActive(task.state)) return;
      const attempt = one.old ? Math.max(1, task.attempt - 1) : task.attempt;
      world.report(task.state.nodeId, [task.jobId, task.index, attempt], one.code);
      return;
    }
    case "progress": {
      const task = active[one.pick % Math.max(1, active.length)];
      if (task === undefined || !isActive(task.state)) return;
      const attempt = one.old ? Math.max(1, task.attempt - 1) : task.attempt;
      const node = one.isCaller ? undefined : task.state.nodeId;
      const { percent } = one;
      world.progress(node, [task.jobId, task.index, attempt], { percent, message: "m" });
      const after = world.state.task(task)?.progress;
      if (attempt !== task.attempt) expect(after).toEqual(task.progress);
      else expect(after?.percent ?? 0).toBeGreaterThanOrEqual(task.progress?.percent ?? 0);
      return;
    }
    case "cancel":
      world.do({
        kind: "cancel-job",
        jobId: jobId(one.job),
        index: one.index,
        reason: "r",
        by: "t",
        nowMs,
      });
      return;
    case "drain":
      world.do({
        kind: "drain-node",
        nodeId: nodeId(one.node),
        drain: one.on ? { reason: "" } : undefined,
      });
      return;
    case "health": {
      const link = world.state.nodes.get(nodeId(one.node))?.node.link;
      const number = link?.kind === "connected" ? link.session : 0;
      const health = { nodeId: nodeId(one.node), session: number, sickness: one.sickness, nowMs };
      world.do({ kind: "report-health", ...health });
      return;
    }
    case "remove":
      world.do({ kind: "remove-node", nodeId: nodeId(one.node), nowMs });
      return;
    case "wait": {
      world.nowMs += one.ms;
      const settings = {
        nodeLostAfterMs: 30_000,
        finishedTasksMax: one.keep,
        finishedAgeMsMax: 120_000,
      };
      world.do({ kind: "tick", nowMs: world.nowMs, settings });
    }
  }
}

/** Whether the step was taken; false: the core refused it. */
function tried(world: World, one: Step): boolean {
  try {
    run(world, one);
    return true;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return false;
  }
}

describe("state", () => {
  test("whatever happens, indexes agree with rows and nothing is overcommitted", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
        const world = new World();
        for (const one of steps) {
          const before = world.changes.length;
          if (!tried(world, one)) expect(world.changes.length).toBe(before); // a refusal changes nothing
          expect(checkState(world.state)).toEqual([]);
        }
      }),
      { numRuns: runs(300) },
    );
  });

  test("a state read back from its rows is the same state", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
        const world = new World();
        for (const one of steps) {
          tried(world, one);
        }
        const back = readBack(world.changes);
        expect(digest(back)).toEqual(digest(world.state));
        expect(checkState(back)).toEqual([]);
      }),
      { numRuns: runs(300) },
    );
  });

  test("whether jobs that wait are folded makes no difference", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
        const worlds = [new World(), new World()] as const;
        for (const world of worlds) {
          session = 0;
          for (const one of steps) {
            if (world === worlds[1]) world.flush();
            else if (one.do === "flush") continue;
            tried(world, one);
          }
        }
        expect(worlds[1].changes).toEqual(worlds[0].changes);
        expect(digest(worlds[1].state)).toEqual(digest(worlds[0].state));
      }),
      { numRuns: runs(300) },
    );
  });

  test("of the changes of a batch, the newest alone leave the same rows", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
        const world = new World();
        for (const one of steps) {
          if (one.do === "flush") continue; // all is one batch
          tried(world, one);
        }
        const isNewest = (change: Change): boolean => world.state.isNewest(change);
        const newest = world.changes.filter(isNewest);
        expect(digest(readBack(world.changes, isNewest))).toEqual(digest(readBack(world.changes)));
        const keys: string[] = [];
        for (const change of newest) {
          TABLES.encode(change, (key, value) => void (value !== undefined && keys.push(key)));
        }
        const written = new Set(keys);
        expect(keys.length).toBe(written.size);
      }),
      { numRuns: runs(200) },
    );
  });

  test("work that can be done is done: with agents that answer, every job ends", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => {
        const world = new World();
        for (const one of steps) {
          tried(world, one);
        }
        finishAll(world);
        const stuck = [...allJobs(world.state)].filter(
          ({ progress, job }) =>
            (progress.state === "pending" || progress.state === "running") &&
            (job.spec.needs["cpu"] ?? 0) <= 4_000 &&
            world.state.holds.get(job.id) === undefined, // for one that is too large
        );
        expect(stuck.map(({ job, progress }) => [job.id, progress.counts])).toEqual([]);
      }),
      { numRuns: runs(300) },
    );
  });
});

/** Every node comes back, undrained, and reports success for whatever it is given. */
function finishAll(world: World): void {
  for (const name of NODES) {
    run(world, { do: "connect", node: name, forgets: false, os: undefined });
    run(world, { do: "drain", node: name, on: false });
  }
  removeServices(world);
  for (let round = 0; round < 200; round++) {
    world.nowMs += 3_600_000;
    const settled = world.settle();
    world.plan();
    let reported = 0;
    for (const { node, tasks } of world.state.nodes.values()) {
      const there = Array.from(tasks); // reporting takes them out
      for (const task of there) world.report(node.id, [task.jobId, task.index, task.attempt], 0);
      reported += there.length;
    }
    if (reported + settled === 0) return;
  }
}
