import * as fc from "fast-check";
import { expect } from "vitest";
import { aHello, aSpec } from "../../../testing/builders.ts";
import type { World } from "../../../testing/world.ts";
import { groupId, jobId, nodeId } from "../../model/ids.ts";
import { isActive } from "../../model/job/task.ts";
import type { NodeFacts } from "../../model/node/node-facts.ts";
import { NO_FACTS } from "../../model/node/node-facts.ts";
import { allJobs } from "../checks/all-jobs.ts";
import { runServiceStep, serviceStep } from "../services/testing/service-steps.ts";

export const NODES = ["n1", "n2", "n3"];

/** Any event, in any order: most make sense, some are rejected. */
export const step = fc.oneof(
  serviceStep,
  fc.record({
    do: fc.constant("submit" as const),
    cpu: fc.integer({ min: 1, max: 5 }),
    size: fc.integer({ min: 0, max: 4 }),
    priority: fc.integer({ min: -1, max: 1 }),
    group: fc.constantFrom("a", "b"),
    retries: fc.integer({ min: 0, max: 2 }),
    begin: fc.option(fc.integer({ min: 1, max: 30_000 }), { nil: undefined, freq: 4 }),
    deadline: fc.option(fc.integer({ min: 1, max: 20_000 }), { nil: undefined }),
    held: fc.constantFrom(false, false, false, true),
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
    do: fc.constant("hold" as const),
    job: fc.integer({ min: 1, max: 8 }),
    index: fc.option(fc.nat(3), { nil: undefined }),
    on: fc.boolean(),
  }),
  fc.record({
    do: fc.constant("update" as const),
    job: fc.integer({ min: 1, max: 8 }),
    priority: fc.option(fc.integer({ min: -1, max: 1 }), { nil: undefined }),
    timeLimitMs: fc.constantFrom(undefined, null, 1_000, 2_000),
    group: fc.constantFrom(undefined, "a", "b", "c"),
  }),
  fc.record({
    do: fc.constant("requeue" as const),
    job: fc.integer({ min: 1, max: 8 }),
    index: fc.option(fc.nat(3), { nil: undefined }),
  }),
  fc.record({
    do: fc.constant("rerun" as const),
    job: fc.integer({ min: 1, max: 8 }),
    only: fc.option(fc.nat(3), { nil: undefined }),
  }),
  fc.record({
    do: fc.constant("pause" as const),
    group: fc.constantFrom("a", "b"),
    on: fc.boolean(),
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
export type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

let session = 0;

/** So that another world sees the same sessions. */
export function resetSessions(): void {
  session = 0;
}

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

export function run(world: World, one: Step): void {
  const { nowMs } = world;
  const active = [...allJobs(world.state)].flatMap((record) =>
    [...record.taskRows()].filter((task) => isActive(task.state)),
  );
  switch (one.do) {
    case "submit": {
      const spec = aSpec({
        resources: { cpu: one.cpu },
        array: one.size === 0 ? undefined : `0-${one.size}${one.size === 4 ? "%2" : ""}`,
        beginAtMs: one.begin,
        priority: one.priority,
        group: one.group,
        retries: { max: one.retries, backoffMs: 500 },
        queueDeadlineMs: one.deadline,
        dependsOn: dependsOn(one.after, world.state.counter.lastJobId),
      });
      world.do({
        kind: "submit-jobs",
        submissions: [{ spec, idempotencyKey: undefined, isHeld: one.held }],
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
    case "hold":
      world.do({
        kind: "hold-job",
        jobId: jobId(one.job),
        index: one.index,
        hold: one.on ? { reason: "r" } : undefined,
        nowMs,
      });
      return;
    case "update": {
      const { priority, timeLimitMs, group } = one;
      const set = { priority, timeLimitMs, group };
      world.do({ kind: "update-job", jobId: jobId(one.job), set });
      return;
    }
    case "requeue":
      world.do({
        kind: "requeue-job",
        jobId: jobId(one.job),
        index: one.index,
        reason: "r",
        nowMs,
      });
      return;
    case "rerun": {
      const only =
        one.only === undefined ? undefined : [{ first: one.only, last: one.only, step: 1 }];
      const key = { idempotencyKey: undefined };
      world.do({ kind: "rerun-job", jobId: jobId(one.job), only, ...key, nowMs });
      return;
    }
    case "pause":
      world.do({ kind: "put-group", id: groupId(one.group), isPaused: one.on });
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
