import { type Job, submittedSpec } from "../../src/core/model/job/job.ts";
import type { Task } from "../../src/core/model/job/task.ts";
import { isActive, isEnded } from "../../src/core/model/job/task.ts";
import { isDeepEqual } from "../../src/lib/is-deep-equal.ts";
import type { BatchMoves, Durable, RowMove, Run } from "./durable.ts";
import { formatRun } from "./durable.ts";
import { takenBy } from "./placements.ts";

/** Every checked promise. Mutations name the one that must catch them. */
export type CheckerName =
  | "acknowledged-jobs-exist"
  | "one-job-per-key"
  | "ended-stays-ended"
  | "every-task-ends"
  | "acknowledged-ends-stay"
  | "one-execution-per-attempt"
  | "no-overcommit"
  | "old-attempts-are-stopped"
  | "indexes-agree-with-rows"
  | "memory-equals-disk"
  | "watch-has-no-gaps"
  | "watched-view-agrees"
  | "durable-before-told"
  | "server-stays-sound"
  | "dependents-wait"
  | "skips-are-due"
  | "fates-are-written"
  | "placed-as-asked"
  | "whole-nodes-are-alone"
  | "offered-as-asked"
  | "offers-have-clusters"
  | "counters-go-down"
  | "one-taker-each"
  | "accepted-ends-were-reported"
  | "sick-nodes-cost-nothing"
  | "quarantines-are-due"
  | "losses-follow-policy"
  | "held-is-begun-or-back"
  | "progress-goes-forward"
  | "ends-say-how-far"
  | "holds-are-kept"
  | "paused-groups-place-nothing"
  | "requeued-is-stopped-first"
  | "one-job-per-slot"
  | "wanted-instances-run";

/** The mistake, in one clause; undefined when the promise is kept. */
export type Verdict = string | undefined;

/** An answered submission exists, as requested. */
export function acknowledgedJobExists(
  { jobs }: Durable,
  told: { readonly id: number; readonly spec: Job["spec"] },
): Verdict {
  const job = jobs.get(told.id);
  if (job === undefined) return `job ${told.id} was acknowledged and is gone`;
  const isSame = isDeepEqual(submittedSpec(job), told.spec);
  return isSame ? undefined : `job ${told.id} has another spec`;
}

/** A job is removed from the disk only when all of it has ended. */
export const removedJobHadEnded = (
  unfinishedBefore: number,
  { before, after }: RowMove<Job>,
): Verdict =>
  before !== undefined && after === undefined && unfinishedBefore > 0
    ? `job ${before.id} was removed with ${unfinishedBefore} unfinished tasks`
    : undefined;

export function oneJobPerKey(known: ReadonlyMap<string, number>, job: Job): Verdict {
  if (job.idempotencyKey === undefined) return undefined;
  const other = known.get(job.idempotencyKey);
  if (other === undefined || other === job.id) return undefined;
  return `key ${job.idempotencyKey} made job ${other} and job ${job.id}`;
}

export function endedStaysEnded({ before, after }: RowMove<Task>): Verdict {
  if (before === undefined || after === undefined || !isEnded(before.state)) return undefined;
  if (isDeepEqual(before, after)) return undefined;
  return `${formatRun(before)} was ${before.state.kind} and became ${formatRun(after)} ${after.state.kind}`;
}

export function closedStaysClosed({ before, after }: RowMove<Job>): Verdict {
  if (before?.closed === undefined || after === undefined) return undefined;
  if (isDeepEqual(before.closed, after.closed)) return undefined;
  return `job ${before.id} was ${before.closed.kind} and no longer is`;
}

/** An attempt belongs to one node for good, and attempts only grow, except a held attempt that was returned. */
export function attemptStaysOnItsNode({ before, after }: RowMove<Task>): Verdict {
  if (before === undefined || after === undefined) return undefined;
  const isGivenBack = before.state.kind === "held" && after.attempt === before.attempt - 1;
  if (after.attempt < before.attempt && !isGivenBack) {
    return `${formatRun(before)} went back to ${after.attempt}`;
  }
  if (
    before.state.kind === "held" &&
    before.attempt === after.attempt &&
    wasHeldAgain(before, after)
  ) {
    return undefined; // returned and held elsewhere in one batch
  }
  const [from, to] = [nodeOf(before), nodeOf(after)];
  if (after.attempt > before.attempt || from === undefined || to === undefined) return undefined;
  return from === to ? undefined : `${formatRun(after)} moved from ${from} to ${to}`;
}

const wasHeldAgain = (before: Task, after: Task): boolean => {
  const [from, to] = [before.state, after.state];
  if (from.kind !== "held") return false;
  if (to.kind === "held") return to.heldAtMs !== from.heldAtMs;
  return to.kind === "assigned" && to.isBegun !== true;
};

const nodeOf = ({ state }: Task): string | undefined =>
  "nodeId" in state ? state.nodeId : undefined;

/** On the disk, the tasks bound to a node fit it. */
export function nodesHoldWhatFits(durable: Durable): Verdict {
  const { tasks, nodes } = durable;
  const usedByNode = new Map<string, Record<string, number>>();
  for (const task of tasks.values()) {
    if (!isActive(task.state) || isOfCluster(durable, task.state.nodeId)) continue;
    // In the slot of another, whose end may be on its way: the machine is judged by its running tasks.
    if (task.state.kind === "assigned" && task.state.isBegun === true) continue;
    const used = usedByNode.get(task.state.nodeId) ?? {};
    usedByNode.set(task.state.nodeId, used);
    add(used, takenBy(durable, task));
  }
  for (const [id, used] of usedByNode) {
    const capacity = nodes.get(id)?.capacity ?? {};
    if (!fitsIn(used, capacity)) {
      return `node ${id} holds ${JSON.stringify(used)} of ${JSON.stringify(capacity)}`;
    }
  }
  return undefined;
}

/** The agent of a cluster accepts as much as it wants to. */
const isOfCluster = ({ nodes }: Durable, id: string): boolean =>
  nodes.get(id)?.clusterAgent !== undefined;

/** On the machine, wanted running tasks fit it. */
export function machineRunsWhatFits(
  durable: Durable,
  machine: { readonly name: string; readonly capacity: Readonly<Record<string, number>> },
  wanted: readonly Run[],
): Verdict {
  if (isOfCluster(durable, machine.name)) return undefined;
  const used: Record<string, number> = {};
  for (const run of wanted) {
    const task = durable.task(run);
    if (task !== undefined) add(used, takenBy(durable, task));
  }
  if (fitsIn(used, machine.capacity)) return undefined;
  return `machine ${machine.name} runs ${JSON.stringify(used)} of ${JSON.stringify(machine.capacity)}`;
}

function add(target: Record<string, number>, amounts: Readonly<Record<string, number>>): void {
  for (const [name, amount] of Object.entries(amounts)) target[name] = (target[name] ?? 0) + amount;
}

/** Not `fits` of the core: a mutation of that must not blind its own judge. */
const fitsIn = (used: Readonly<Record<string, number>>, capacity: typeof used): boolean =>
  Object.entries(used).every(([name, amount]) => amount <= (capacity[name] ?? 0));

/** An execution follows an assignment to this same node, and is the first of its attempt. */
export function isFirstExecution(
  { assignedTo }: Durable,
  executions: ReadonlyMap<string, string>,
  run: Run,
  node: string,
): Verdict {
  const key = formatRun(run);
  const earlier = executions.get(key);
  if (earlier !== undefined) return `${key} ran on ${earlier} and runs again on ${node}`;
  if (assignedTo.get(key) === node) return undefined;
  return `${key} runs on ${node} but was given to ${assignedTo.get(key) ?? "nobody"}`;
}

/** A run that an agent may drop is durable: the attempt no longer counts as under way. */
export function acknowledgedEndStays(durable: Durable, run: Run, node: string): Verdict {
  return durable.isWanted(run, node)
    ? `the end of ${formatRun(run)} on ${node} was acknowledged, and it is under way again`
    : undefined;
}

/** The rows of one batch, each against the row before it. */
export function batchIsAllowed(moves: BatchMoves): readonly [CheckerName, Verdict][] {
  return [
    ...moves.tasks.map((move): [CheckerName, Verdict] => [
      "ended-stays-ended",
      endedStaysEnded(move),
    ]),
    ...moves.jobs.map((move): [CheckerName, Verdict] => [
      "ended-stays-ended",
      closedStaysClosed(move),
    ]),
    ...moves.tasks.map((move): [CheckerName, Verdict] => [
      "one-execution-per-attempt",
      attemptStaysOnItsNode(move),
    ]),
  ];
}

/** Watchers receive each revision that concerns them, once and in order. */
export function noGapBetween(visible: readonly number[], last: number, next: number): Verdict {
  if (next <= last) return `revision ${next} came after ${last}`;
  const missed = visible.findLast((revision) => revision > last && revision < next);
  return missed === undefined
    ? undefined
    : `revision ${missed} is missing between ${last} and ${next}`;
}
