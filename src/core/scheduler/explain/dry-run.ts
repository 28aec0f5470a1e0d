import { limits } from "../../../limits.ts";
import { matchWork } from "../../graph/match/match-work.ts";
import { indexAt } from "../../model/job/array-range.ts";
import type { JobSpec } from "../../model/job/job.ts";
import { rangesOf, taskTotalOf } from "../../model/job/job.ts";
import { jobId } from "../../model/ids.ts";
import type { Task } from "../../model/job/task.ts";
import type { GroupId } from "../../model/ids.ts";
import type { GroupRecord } from "../queue/group-record.ts";
import { countedDown } from "../clusters/counted-down.ts";
import type { Target } from "../clusters/choose-cluster.ts";
import { chooseTarget, type PlanPolicy, type PlanView } from "../plan.ts";
import { chooseShares } from "../power/choose-shares.ts";
import type { RequestClass } from "../request.ts";
import { takesNow } from "../nodes/placement-cost.ts";

/** The state that it reads, and changes during the trial. */
export interface DryRunView extends PlanView {
  readonly groups: ReadonlyMap<GroupId, GroupRecord>;
}

/** Where tasks of a job would go now. */
export interface DryRun {
  readonly tasks: number;
  readonly placements: readonly { readonly index: number; readonly target: Target }[];
  /** Why the next task would wait, after those that were tried; undefined: it was not tried, or there is none. */
  readonly waitsFor: Shortage | undefined;
}

/** It fits nowhere now; or its group, or its array, is at its limit of running tasks. */
export type Shortage = "capacity" | "group" | "array";

export interface DryRunBounds {
  readonly candidatesMax: number;
  /** Over all jobs; a job of which nothing can be placed counts as one. */
  readonly placementsMax: number;
  /** The steps of matching after which no further job is tried. */
  readonly stepsMax: number;
  /** For the power that nodes are expected to have; absent: no expected change is past. */
  readonly nowMs?: number;
}

/**
 * Places tasks of jobs that are not submitted, with the real planner on the current state, one after
 * the other, and undoes all of it. Queued jobs do not matter: everything that can be placed has been
 * placed.
 */
export function dryRun(
  state: DryRunView,
  specs: readonly JobSpec[],
  policy: PlanPolicy,
  { candidatesMax, placementsMax, stepsMax, nowMs = 0 }: DryRunBounds,
): readonly DryRun[] {
  const undo: (() => void)[] = [];
  let left = placementsMax;
  const running = new Map<string, number>();
  const { turn } = state.clusters;
  try {
    const firstStep = matchWork.steps;
    return specs.map((spec) => {
      const isTried = left > 0 && matchWork.steps - firstStep < stepsMax;
      if (!isTried) return untried(spec);
      const trial = state.queue.withClass(spec, (request) =>
        placeAll({ state, spec, request, policy, undo, running, nowMs }, candidatesMax, left),
      );
      left -= Math.max(1, trial.placements.length);
      return trial;
    });
  } finally {
    for (const step of undo.reverse()) step();
    state.clusters.turn = turn;
  }
}

const untried = (spec: JobSpec): DryRun => ({
  tasks: taskTotalOf(spec),
  placements: [],
  waitsFor: undefined,
});

interface Attempt {
  readonly state: DryRunView;
  readonly spec: JobSpec;
  readonly request: RequestClass;
  readonly policy: PlanPolicy;
  readonly undo: (() => void)[];
  /** By group, for the tried tasks. */
  readonly running: Map<string, number>;
  readonly nowMs: number;
}

function placeAll(attempt: Attempt, candidatesMax: number, placementsMax: number): DryRun {
  const { state, spec, request, policy, running } = attempt;
  const tasks = taskTotalOf(spec);
  const placements: { index: number; target: Target }[] = [];
  const group = state.groups.get(spec.group);
  const most = group?.group.runningTasksMax ?? Number.POSITIVE_INFINITY;
  const result = (waitsFor?: Shortage): DryRun => ({ tasks, placements, waitsFor });
  if (spec.energy !== undefined) return placeShares(attempt, most, placementsMax);
  for (let at = 0; at < Math.min(tasks, placementsMax); at++) {
    const active = (group?.activeTasks ?? 0) + (running.get(spec.group) ?? 0);
    if (active >= most) return result("group");
    if (at >= (spec.tasksAtOnce ?? tasks)) return result("array");
    const target = chooseTarget(state, request, policy, candidatesMax);
    if (target === undefined) return result("capacity");
    const index = indexAt(rangesOf(spec), at) ?? 0;
    placements.push({ index, target });
    running.set(spec.group, (running.get(spec.group) ?? 0) + 1);
    take(attempt, index, target);
  }
  return result();
}

/** The shares into which its energy would be split now. */
function placeShares(attempt: Attempt, most: number, placementsMax: number): DryRun {
  const { state, spec, request, running, nowMs, policy } = attempt;
  const { energy: terms } = spec;
  if (terms === undefined || terms.wattSeconds === 0) return { ...untried(spec), tasks: 0 };
  const active = (state.groups.get(spec.group)?.activeTasks ?? 0) + (running.get(spec.group) ?? 0);
  const sharesMax = Math.min(limits.sharesPerSplitMax, placementsMax, most - active);
  const asked = { energy: terms.wattSeconds, terms, sharesMax };
  const shares = policy.isEnergyExternal === true ? [] : chooseShares(request, asked, nowMs);
  const placements = shares.map(({ node }, index) => {
    const target: Target = { kind: "node", node };
    take(attempt, index, target);
    return { index, target };
  });
  running.set(spec.group, (running.get(spec.group) ?? 0) + shares.length);
  const waitsFor = active >= most ? "group" : shares.length === 0 ? "capacity" : undefined;
  return { tasks: Math.max(1, shares.length), placements, waitsFor };
}

/** Does what State.apply would do, for the duration of the trial. */
function take({ state, spec, undo }: Attempt, index: number, target: Target): void {
  const { clusters, fleet } = state;
  clusters.turn++;
  if (target.kind === "node") {
    const { node } = target;
    const task = aTask(index, { kind: "assigned", nodeId: node.node.id, assignedAtMs: 0 });
    const takes = takesNow(spec, node) ?? spec.needs;
    node.bind(task, takes, spec.where.port);
    clusters.loads.bound(node.node.cluster, takes);
    const { lastTurn } = node;
    fleet.assigned(node);
    undo.push(() => {
      node.lastTurn = lastTurn;
      fleet.turn--;
      node.release(task, takes, spec.where.port);
      clusters.loads.released(node.node.cluster, takes);
      fleet.usageChanged(node, false); // it frees nothing new: the capacity was free before
    });
    return;
  }
  const { cluster } = target;
  const task = aTask(index, { kind: "offered", cluster, offeredAtMs: 0 });
  clusters.loads.moved(undefined, task);
  undo.push(() => clusters.loads.moved(task, undefined));
  const status = countedDown(clusters, cluster, spec);
  if (status === undefined) return;
  const before = clusters.statusOf(cluster);
  clusters.putStatus(status);
  undo.push(() => clusters.putStatus(before));
}

const aTask = (index: number, state: Task["state"]): Task => ({
  jobId: jobId(0),
  index,
  attempt: 1,
  state,
  failures: 0,
  losses: 0,
  past: [],
});
