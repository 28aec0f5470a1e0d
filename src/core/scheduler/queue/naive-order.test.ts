import * as fc from "fast-check";
import { expect, test } from "vitest";
import { allJobs } from "../../state/checks/all-jobs.ts";
import { aHello, aSpec } from "../../../testing/builders.ts";
import { checkState } from "../../../testing/check/check-state.ts";
import { World } from "../../../testing/world.ts";
import { limits } from "../../../limits.ts";
import { groupId, nodeId } from "../../model/ids.ts";
import type { JobSpecInput } from "../../model/job/job-spec.ts";
import { isSchedulable } from "../../model/node/node.ts";
import { dominantShare } from "../../model/resources.ts";
import type { Task } from "../../model/job/task.ts";
import { isActive } from "../../model/job/task.ts";
import { placeTask } from "../../state/decide/tasks/place-task.ts";
import type { JobRecord } from "../../state/jobs/job-record.ts";
import type { NodeRecord } from "../nodes/node-record.ts";
import type { State } from "../../state/state.ts";
import { judge } from "../../../testing/slow-explain/explain.ts";
import { describeRefusal } from "../explain/describe.ts";
import { nextPlacement } from "../plan.ts";
import { createPolicy } from "../policy.ts";
import { spread } from "../scorers/spread.ts";
import { preferenceNow } from "../nodes/placement-cost.ts";
import { runs } from "../../../testing/runs.ts";

/** How much each group was served, by the definition alone: docs/design/queue-order.md. */
class Passes {
  readonly #byGroup = new Map<string, number>();
  #largestServed = 0;

  of(group: string): number {
    return this.#byGroup.get(group) ?? 0;
  }

  served({ spec }: JobRecord["job"], { groups, fleet }: State): void {
    this.#largestServed = Math.max(this.#largestServed, this.of(spec.group));
    const weight = groups.get(spec.group)?.group.weight ?? 1;
    const given = dominantShare(spec.needs, fleet.capacity) / weight;
    this.#byGroup.set(spec.group, this.#largestServed + given);
  }
}

/** The groups that may run more, in the order in which they are served. */
function groupsInOrder({ groups, fleet }: State, passes: Passes) {
  const keyOf = ({ used, group }: { used: object; group: { weight: number } }): number =>
    dominantShare(used as never, fleet.capacity) / group.weight;
  return [...groups.values()]
    .filter(({ group, activeTasks }) => activeTasks < (group.runningTasksMax ?? Infinity))
    .sort((a, b) => {
      const [one, other] = [keyOf(a), keyOf(b)];
      if (one !== other) return one < other ? -1 : 1;
      const difference = passes.of(a.group.id) - passes.of(b.group.id);
      return difference === 0 ? (a.group.id < b.group.id ? -1 : 1) : difference;
    });
}

interface Expected {
  readonly record: JobRecord;
  readonly nodes: readonly NodeRecord[];
}

/** The job whose task is placed next, found by a search of all groups, all jobs and all nodes. */
function naiveNext(state: State, passes: Passes): Expected | undefined {
  const queued = [...allJobs(state)].filter(
    ({ lane, job }) => lane !== undefined && job.closed === undefined,
  );
  for (const { group } of groupsInOrder(state, passes)) {
    const jobs = queued
      .filter(({ job }) => job.spec.group === group.id)
      .filter((record) => state.jobs.get(record.job.id)?.nextIndex() !== undefined)
      .sort((a, b) => b.job.spec.priority - a.job.spec.priority || a.job.id - b.job.id);
    for (const record of jobs) {
      const nodes = [...state.nodes.values()].filter(
        (node) =>
          isSchedulable(node.node) && judge(state.filters, record.job.spec, node).kind === "yes",
      );
      if (nodes.length > 0) return { record, nodes };
    }
  }
  return undefined;
}

/** The node that "spread" chooses. */
function spreadOver(record: JobRecord, nodes: readonly NodeRecord[]): string | undefined {
  const { spec } = record.job;
  const [best] = [...nodes].sort(
    (a, b) =>
      preferenceNow(spec, a) - preferenceNow(spec, b) ||
      spread.score(spec, b) - spread.score(spec, a) ||
      a.tasks.size - b.tasks.size ||
      (a.node.id < b.node.id ? -1 : 1),
  );
  return best?.node.id;
}

const part = { unit: undefined, isSlot: false, isExclusive: false, label: undefined };
const cores = (count: number) => [[{ ...part, type: "core", count, requires: [], with: [] }]];

const ask = fc.constantFrom<Partial<JobSpecInput>>(
  { resources: { cpu: 1 } },
  { resources: { cpu: 1 } },
  { resources: { cpu: 2 } },
  { resources: { cpu: 4 } },
  { resources: { cpu: 1, memory: 4 } },
  { resources: { cpu: 3, memory: 1 } },
  { resources: { cpu: 1, gpu: 1 } },
  { resources: { cpu: 1 }, placement: { node: "m1" } },
  { resources: { cpu: 1 }, placement: { node: "m2" } },
  { resources: { cpu: 1 }, placement: { node: "m3" } },
  { resources: { cpu: 1 }, placement: { node: "m4" } },
  { resources: { cpu: 1 }, placement: { cluster: "blue" } },
  { resources: { cpu: 2 }, placement: { labels: { zone: "a" } } },
  { resources: { cpu: 1 }, placement: { cluster: "blue", labels: { zone: "b" } } },
  { request: cores(2) },
  { request: cores(2), placement: { cluster: "blue" } },
  { request: [...cores(5), ...cores(1)] },
);
const group = fc.constantFrom("a", "b", "c", "d", "e");

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("submit" as const),
      group,
      ask,
      priority: fc.integer({ min: 0, max: 1 }),
      size: fc.integer({ min: 1, max: 6 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("end" as const),
      at: fc.nat(50),
      count: fc.constantFrom(1, 2, 12),
      code: fc.constantFrom(0, 0, 1),
    }),
  },
  fc.record({
    do: fc.constant("join" as const),
    cpus: fc.integer({ min: 1, max: 6 }),
    cluster: fc.constantFrom("default", "blue"),
    zone: fc.constantFrom("a", "b"),
    gpu: fc.constantFrom(0, 1),
  }),
  fc.record({ do: fc.constant("drain" as const), at: fc.nat(50), on: fc.boolean() }),
  fc.record({
    do: fc.constant("limit" as const),
    group,
    most: fc.integer({ min: 0, max: 3 }),
    weight: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ do: fc.constant("cancel" as const), at: fc.nat(50) }),
  fc.record({ do: fc.constant("restart" as const) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

function run(world: World, one: Step): void {
  const { state, nowMs } = world;
  const running = (): Task[] => [...state.nodes.values()].flatMap(({ tasks }) => [...tasks]);
  switch (one.do) {
    case "submit": {
      const { size, priority } = one;
      const array = size === 1 ? {} : { array: `0-${size - 1}` };
      const spec = aSpec({ ...one.ask, ...array, priority, group: one.group, retries: { max: 1 } });
      const submissions = [{ spec, idempotencyKey: undefined }];
      world.do({ kind: "submit-jobs", submissions, by: "t", nowMs });
      return;
    }
    case "end":
      for (const task of running()
        .slice(one.at % 7)
        .slice(0, one.count)) {
        const { jobId, index, attempt } = task;
        if (isActive(task.state))
          world.report(task.state.nodeId, [jobId, index, attempt], one.code);
      }
      return;
    case "join": {
      const { cpus, cluster, zone, gpu } = one;
      const capacity = { cpu: cpus * 1_000, memory: 6, ...(gpu === 0 ? {} : { gpu }) };
      const session = state.nodes.size + 1;
      const hello = aHello(`m${session}`, { capacity, cluster, labels: { zone }, session });
      world.do({ kind: "connect-node", ...hello });
      return;
    }
    case "drain": {
      const name = [...state.nodes.keys()][one.at % Math.max(1, state.nodes.size)];
      if (name === undefined) return;
      const drain = one.on ? { by: "t", reason: "" } : undefined;
      world.do({ kind: "drain-node", nodeId: nodeId(name), drain });
      return;
    }
    case "limit":
      world.do({
        kind: "put-group",
        id: groupId(one.group),
        runningTasksMax: one.most,
        weight: one.weight,
      });
      return;
    case "cancel": {
      const open = [...allJobs(state)].filter(({ job }) => job.closed === undefined);
      const id = open[one.at % Math.max(1, open.length)]?.job.id;
      if (id === undefined) return;
      world.do({ kind: "cancel-job", jobId: id, index: undefined, reason: "", by: "t", nowMs });
      return;
    }
    case "restart":
      world.restart();
  }
}

const words = (text: string): readonly ["default" | "blue", "a" | "b"] =>
  text.split(" ") as ["default" | "blue", "a" | "b"];

const world = fc.array(
  fc.record({ step, placements: fc.constantFrom(0, 1, 2, 5, 1_000, 1_000), later: fc.boolean() }),
  { minLength: 5, maxLength: 60 },
);

for (const [name, poolsPerPlaceMax] of [
  ["", limits.poolsPerPlaceMax],
  [", also where all requests share pools", 0],
  [", also where some requests share pools", 2],
] as const) {
  test(`what is placed next, and where, is what a search through everything finds${name}`, () => {
    checkOrder(poolsPerPlaceMax);
  });
}

function checkOrder(poolsPerPlaceMax: number): void {
  const policy = createPolicy({ policy: "spread" }, () => 0);
  const bounds = {
    candidatesMax: limits.candidatesPerPlacementMax,
    wakeChecksMax: 1_000,
    nowMs: 0,
  };
  const property = fc.property(world, (steps) => {
    const it = new World();
    let passes = new Passes();
    for (const [cluster, zone] of ["default a", "blue b", "default b", "blue a"].map(words)) {
      run(it, { do: "join", cpus: 3, cluster, zone, gpu: 0 });
    }
    for (const { step: one, placements, later } of steps) {
      it.state.fleet.poolsPerPlaceMax = poolsPerPlaceMax;
      run(it, one);
      if (one.do === "restart") passes = new Passes();
      if (later) it.nowMs += 60_000;
      it.state.queue.release(it.nowMs);
      for (let count = 0; count < placements; count++) {
        const want = naiveNext(it.state, passes);
        const next = nextPlacement(it.state, policy, bounds);
        expect(next?.record.job.id).toBe(want?.record.job.id);
        if (
          next === undefined ||
          "shares" in next ||
          next.target.kind !== "node" ||
          want === undefined
        )
          break;
        const { spec } = want.record.job;
        const { node } = next.target.node;
        // For a graph request the cluster is chosen first.
        const isOpen = spec.request !== undefined && spec.where.cluster === undefined;
        const nodes = want.nodes.filter((one) => !isOpen || one.node.cluster === node.cluster);
        expect(node.id).toBe(spreadOver(want.record, nodes));
        passes.served(want.record.job, it.state);
        const outcome = placeTask(it.state, next, it.nowMs);
        if (outcome.kind === "refused") throw new Error(describeRefusal(outcome.refusal));
        for (const change of outcome.changes) it.apply(change);
      }
      expect(checkState(it.state)).toEqual([]);
    }
  });
  fc.assert(property, { numRuns: runs(300) });
}
