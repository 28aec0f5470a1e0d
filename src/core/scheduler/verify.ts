import { isSchedulable } from "../model/node/node.ts";
import type { ClusterTable } from "../state/cluster-table.ts";
import type { JobRecord } from "../state/jobs/job-record.ts";
import type { NodeRecord } from "../state/nodes/node-record.ts";
import { whereMatches } from "./filters/where-matches.ts";
import type { Placement } from "./plan.ts";
import { askedOfClusters } from "./request.ts";
import type { Request } from "./request.ts";
import { takesNow } from "./nodes/placement-cost.ts";

/**
 * The only judge of placements: rules out overcommit, double placement, nodes and clusters that are
 * gone or have not what is asked for, against the newest state and independently of how the plan
 * was made. Returns the refusal.
 */
export function verify(
  { record, index, target }: Placement,
  clusters: ClusterTable,
): string | undefined {
  const refusal = verifyTask(record, index);
  if (refusal !== undefined) return refusal;
  const { spec } = record.job;
  return target.kind === "node"
    ? verifyNode(spec, target.node)
    : verifyCluster(spec, target.cluster, clusters);
}

/** Whether the task is queued at all. */
export function verifyTask(record: JobRecord, index: number): string | undefined {
  const { job } = record;
  const state = record.task(index)?.state;
  if (job.closed !== undefined) return `job ${job.id} is ${job.closed.kind}`;
  if (job.waitsFor !== undefined) return `job ${job.id} waits for others`;
  return state === undefined || state.kind === "waiting"
    ? undefined
    : `task is ${state.kind} already`;
}

function verifyNode(request: Request, node: NodeRecord): string | undefined {
  if (!isSchedulable(node.node)) return `node ${node.node.id} takes no tasks`;
  if (takesNow(request, node) === undefined) return `node ${node.node.id} has no room`;
  const allowed = whereMatches.check(request, node);
  return allowed.kind === "yes" ? undefined : allowed.reason;
}

function verifyCluster(request: Request, id: string, { graphs }: ClusterTable): string | undefined {
  const asked = askedOfClusters(request);
  if (!graphs.has(id)) return `there is no cluster ${id} that pulls`;
  if (asked === undefined) return "asks for nodes, not for clusters";
  const { cluster } = request.where;
  if (cluster !== undefined && cluster !== id) return `not in cluster ${cluster}`;
  return graphs.match(id, asked.compiled).fits ? undefined : `cluster ${id} cannot have it`;
}
