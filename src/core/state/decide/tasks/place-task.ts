import { limits } from "../../../../limits.ts";
import type { JobId } from "../../../model/ids.ts";
import type { Task } from "../../../model/job/task.ts";
import type { Node } from "../../../model/node/node.ts";
import { countedDown } from "../../../scheduler/clusters/counted-down.ts";
import type { Target } from "../../../scheduler/clusters/choose-cluster.ts";
import {
  countTurn,
  type Placement,
  type SplitPlacement,
  type TaskPlacement,
} from "../../../scheduler/plan.ts";
import { takesNow } from "../../../scheduler/nodes/placement-cost.ts";
import { type PlacementRefusal, verify, verifySplit } from "../../../scheduler/verify.ts";
import type { Change } from "../../change.ts";
import type { QueuedJobRecord } from "../../../scheduler/queue/queued-jobs.ts";
import type { State } from "../../state.ts";
import { clusterChanged } from "../cluster-changed.ts";

/** `verify` refused a proposal. Nothing has changed; the planner tries again later. */
export interface Refused {
  readonly kind: "refused";
  readonly refusal: PlacementRefusal;
  readonly jobId: JobId;
  readonly index: number;
}

export type PlacementOutcome =
  | { readonly kind: "placed"; readonly changes: readonly Change[]; readonly tasks: number }
  | Refused;

/** Verifies a proposal of the planner, and turns it into changes, or makes the planner wait with it. */
export function placeTask(state: State, placement: Placement, nowMs: number): PlacementOutcome {
  const { lane, record, index } = placement;
  const isSplit = "shares" in placement;
  const refusal = isSplit ? verifySplit(state, placement) : verify(state, placement);
  if (refusal !== undefined) {
    state.queue.refused(lane, nowMs + limits.placementRetryMs);
    return { kind: "refused", refusal, jobId: record.job.id, index };
  }
  if (isSplit) {
    const { length: tasks } = placement.shares;
    countTurn(state, lane, tasks);
    return { kind: "placed", changes: changesOfSplit(placement, nowMs), tasks };
  }
  const changes = changesOf(state, placement, nowMs);
  countTurn(state, lane);
  return { kind: "placed", changes, tasks: 1 };
}

export function changesOfSplit(
  { record, index, shares }: Omit<SplitPlacement, "lane">,
  nowMs: number,
): Change[] {
  return shares.flatMap(({ node: { node }, wattSeconds }, at) => {
    const state = { kind: "assigned", nodeId: node.id, assignedAtMs: nowMs } as const;
    const row = { ...rowOfAttempt(record, index + at, state), share: wattSeconds };
    return [{ table: "task", row } as const, ...onTrial(node, row)];
  });
}

function changesOf(
  state: State,
  { record, index, target }: TaskPlacement,
  nowMs: number,
): Change[] {
  const { clusters } = state;
  const { spec } = record.job;
  const row = rowOfAttempt(record, index, toState(target, nowMs));
  if (target.kind === "cluster") {
    const status = countedDown(clusters, target.cluster, spec);
    const task = { table: "task", row } as const;
    if (status === undefined) return [task];
    return [task, { table: "status", row: status }, ...clusterChanged(state, target.cluster)];
  }
  // A request of amounts takes just these; a graph request what the ledger shows as free.
  const takes = spec.request && takesNow(spec, state.ledger.view(target.node));
  const isOwn = takes === undefined || takes === spec.needs;
  const task = { table: "task", row: isOwn ? row : { ...row, takes } } as const;
  const { node } = target.node;
  return node.quarantine === undefined ? [task] : [task, ...onTrial(node, row)];
}

/** A quarantined node is evaluated by the one task that it gets. */
function onTrial(node: Node, { jobId, index, attempt }: Task): Change[] {
  if (node.quarantine === undefined) return [];
  const phase = { kind: "trial", jobId, index, attempt } as const;
  const quarantine = { ...node.quarantine, phase };
  return [{ table: "node", row: { ...node, quarantine } }];
}

/** The task's row in its next attempt. */
export function rowOfAttempt(record: QueuedJobRecord, index: number, state: Task["state"]): Task {
  const before = record.task(index);
  if (before === undefined) {
    return {
      jobId: record.job.id,
      index,
      attempt: 1,
      failures: 0,
      losses: 0,
      past: NO_PAST,
      state,
    };
  }
  return {
    jobId: record.job.id,
    index,
    attempt: before.attempt + 1,
    failures: before.failures,
    losses: before.losses,
    ...(before.returns === undefined ? {} : { returns: before.returns }),
    ...(before.restarts && { restarts: before.restarts }),
    past: before.past,
    state,
    ...(before.earlierUsage && { earlierUsage: before.earlierUsage }),
  };
}

const toState = (target: Target, nowMs: number): Task["state"] =>
  target.kind === "node"
    ? { kind: "assigned", nodeId: target.node.node.id, assignedAtMs: nowMs }
    : { kind: "offered", cluster: target.cluster, offeredAtMs: nowMs };

const NO_PAST: Task["past"] = Object.freeze([]);
