import { AppError } from "../../../../lib/errors.ts";
import { verticesOfType } from "../../../graph/match/allocation.ts";
import { countDown } from "../../../graph/cluster-state.ts";
import type { Alternative } from "../../../graph/match/compile-request.ts";
import type { ClusterStatus } from "../../../model/cluster.ts";
import type { ClusterId } from "../../../model/ids.ts";
import type { Task } from "../../../model/job/task.ts";
import type { Target } from "../../../scheduler/clusters/choose-cluster.ts";
import type { Placement } from "../../../scheduler/plan.ts";
import { askedOfClusters, type Request } from "../../../scheduler/request.ts";
import { takesNow } from "../../../scheduler/nodes/placement-cost.ts";
import { verify } from "../../../scheduler/verify.ts";
import type { Change } from "../../change.ts";
import type { ClusterTable } from "../../cluster-table.ts";
import type { JobRecord } from "../../jobs/job-record.ts";

/** Turns a proposal of the planner into changes, if the judge agrees. */
export function placeTask(
  placement: Placement,
  clusters: ClusterTable,
  nowMs: number,
): readonly Change[] {
  const refusal = verify(placement, clusters);
  if (refusal !== undefined) throw new AppError("conflict", refusal);
  const { record, index, target } = placement;
  const { spec } = record.job;
  const row = rowOfAttempt(record, index, toState(target, nowMs));
  if (target.kind === "cluster") {
    const status = countedDown(clusters, target.cluster, spec);
    const task = { table: "task", row } as const;
    return status === undefined ? [task] : [task, { table: "status", row: status }];
  }
  const takes = takesNow(spec, target.node);
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

/** What the cluster says of itself, less what it was given; undefined: it counts nothing. */
export function countedDown(
  clusters: ClusterTable,
  id: ClusterId,
  request: Request,
): ClusterStatus | undefined {
  const status = clusters.statusOf(id);
  const asked = askedOfClusters(request);
  if (status.counters.length === 0 || asked === undefined) return undefined;
  const { graphs } = clusters;
  const { allocation } = graphs.allocation(id, asked.compiled);
  const alternative = asked.compiled.alternatives[allocation?.alternative ?? 0];
  const given = {
    nodes: allocation === undefined ? 0 : verticesOfType(graphs.graph(id), allocation, "node"),
    slots: alternative === undefined ? 0 : slotsAsked(alternative),
  };
  const state = countDown(status.state, status.counters, given);
  return { ...status, state };
}

function slotsAsked({ needs, slot }: Alternative): number {
  if (slot === undefined) return 1;
  let count = 1;
  for (let at = slot.need.number; at >= 0; at = needs[at]?.above ?? -1)
    count *= needs[at]?.count ?? 1;
  return count;
}
