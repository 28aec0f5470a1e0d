import { limits } from "../../../../limits.ts";
import type { JobId } from "../../../model/ids.ts";
import type { Task } from "../../../model/job/task.ts";
import { countedDown } from "../../../scheduler/clusters/counted-down.ts";
import type { Target } from "../../../scheduler/clusters/choose-cluster.ts";
import { countTurn, type Placement } from "../../../scheduler/plan.ts";
import { takesNow } from "../../../scheduler/nodes/placement-cost.ts";
import { type PlacementRefusal, verify } from "../../../scheduler/verify.ts";
import type { Change } from "../../change.ts";
import type { JobRecord } from "../../jobs/job-record.ts";
import type { State } from "../../state.ts";

/** The judge refused a proposal. Nothing has happened; the planner tries again later. */
export interface Refused {
  readonly kind: "refused";
  readonly refusal: PlacementRefusal;
  readonly jobId: JobId;
  readonly index: number;
}

export type PlacementOutcome =
  | { readonly kind: "placed"; readonly changes: readonly Change[] }
  | Refused;

/** Judges a proposal of the planner, and makes it changes or has the planner wait with it. */
export function placeTask(state: State, placement: Placement, nowMs: number): PlacementOutcome {
  const { lane, record, index } = placement;
  const refusal = verify(state, placement);
  if (refusal !== undefined) {
    state.queue.refused(lane, nowMs + limits.placementRetryMs);
    return { kind: "refused", refusal, jobId: record.job.id, index };
  }
  const changes = changesOf(state, placement, nowMs);
  countTurn(state, lane);
  return { kind: "placed", changes };
}

function changesOf(state: State, { record, index, target }: Placement, nowMs: number): Change[] {
  const { clusters } = state;
  const { spec } = record.job;
  const row = rowOfAttempt(record, index, toState(target, nowMs));
  if (target.kind === "cluster") {
    const status = countedDown(clusters, target.cluster, spec);
    const task = { table: "task", row } as const;
    return status === undefined ? [task] : [task, { table: "status", row: status }];
  }
  // Of an amount of resources a task takes just that; of a graph, what the judge found free.
  const takes = spec.request && takesNow(spec, state.ledger.view(target.node));
  const isOwn = takes === undefined || takes === spec.needs;
  const task = { table: "task", row: isOwn ? row : { ...row, takes } } as const;
  const { node } = target.node;
  if (node.quarantine === undefined) return [task];
  const { jobId, attempt } = row;
  const phase = { kind: "trial", jobId, index, attempt } as const;
  const quarantine = { ...node.quarantine, phase };
  return [task, { table: "node", row: { ...node, quarantine } }];
}

/** The task's row in its next attempt. */
export function rowOfAttempt(record: JobRecord, index: number, state: Task["state"]): Task {
  const before = record.task(index);
  return {
    jobId: record.job.id,
    index,
    attempt: (before?.attempt ?? 0) + 1,
    failures: before?.failures ?? 0,
    losses: before?.losses ?? 0,
    ...(before?.returns === undefined ? {} : { returns: before.returns }),
    past: before?.past ?? NO_PAST,
    state,
    ...(before?.earlierUsage && { earlierUsage: before.earlierUsage }),
  };
}

const toState = (target: Target, nowMs: number): Task["state"] =>
  target.kind === "node"
    ? { kind: "assigned", nodeId: target.node.node.id, assignedAtMs: nowMs }
    : { kind: "offered", cluster: target.cluster, offeredAtMs: nowMs };

const NO_PAST: Task["past"] = Object.freeze([]);
