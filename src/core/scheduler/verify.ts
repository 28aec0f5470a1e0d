import { hasIndex, positionOf } from "../model/job/array-range.ts";
import type { Closing, JobSpec } from "../model/job/job.ts";
import type { TaskState } from "../model/job/task.ts";
import { activeTasksOf } from "../model/progress.ts";
import { isHeldAt } from "../model/job/user-hold.ts";
import { mayHold } from "../model/node/node.ts";
import type { ClusterId, GroupId, JobId, NodeId } from "../model/ids.ts";
import type { ClusterTable } from "./clusters/cluster-table.ts";
import type { GroupRecord } from "./queue/group-record.ts";
import type { NodeRecord } from "./nodes/node-record.ts";
import type { ClusterReason } from "./clusters/cluster-reason.ts";
import { pullingAnswer } from "./explain/places.ts";
import type { FilterChain } from "./filters/chain.ts";
import type { FilterNode } from "./filters/filter.ts";
import type { Reason } from "./filters/reason.ts";
import { type Ledger, viewOf } from "./ledger.ts";
import type { SplitPlacement, TaskPlacement } from "./plan.ts";
import { clusterRequestOf, type Request } from "./request.ts";
import type { QueuedJobRecord } from "./queue/queued-jobs.ts";

/** Why `verify` refuses a proposal of the planner. `describeRefusal` turns it into text for people. */
export type PlacementRefusal =
  | { readonly kind: "job-unknown" }
  | { readonly kind: "job-closed"; readonly state: Closing["kind"] }
  | { readonly kind: "job-waits" }
  | { readonly kind: "task-unknown" }
  | { readonly kind: "task-placed"; readonly state: TaskState["kind"] }
  | { readonly kind: "task-on-hold" }
  | { readonly kind: "array-full"; readonly tasksAtOnce: number }
  | { readonly kind: "group-paused" }
  | { readonly kind: "group-full"; readonly runningTasksMax: number }
  | { readonly kind: "node-unknown"; readonly node: NodeId }
  | { readonly kind: "node-refuses"; readonly node: NodeId; readonly reason: Reason }
  | { readonly kind: "node-holds-none"; readonly node: NodeId }
  | { readonly kind: "graph-not-held" }
  | { readonly kind: "share-not-held" }
  /** The shares exceed the remaining energy of the job, or violate limits of the job or its nodes. */
  | { readonly kind: "too-much-energy"; readonly asked: number; readonly left: number }
  | { readonly kind: "wrong-share"; readonly node: NodeId; readonly wattSeconds: number }
  | { readonly kind: "cluster-unknown"; readonly cluster: string }
  | {
      readonly kind: "cluster-refuses";
      readonly cluster: string;
      readonly reasons: readonly ClusterReason[];
    };

/** The state that `verify` reads: rows and sums of rows, and none of the planner's indexes. */
export interface VerifyView {
  readonly jobs: { getOpen(id: JobId): QueuedJobRecord | undefined };
  readonly groups: ReadonlyMap<GroupId, GroupRecord>;
  readonly nodes: ReadonlyMap<NodeId, NodeRecord>;
  readonly clusters: ClusterTable;
  readonly filters: FilterChain;
  readonly ledger: Ledger;
}

type Proposal = Omit<TaskPlacement, "lane">;

/**
 * The only check of placements: excludes overcommit, double placement, and nodes and clusters that are
 * removed or lack the requested resources. Checks the newest state, independent of how the plan was
 * made. Returns the refusal.
 */
export function verify(
  view: VerifyView,
  { record, index, target }: Proposal,
): PlacementRefusal | undefined {
  const refusal = verifyTask(view, record, index);
  if (refusal !== undefined) return refusal;
  const { spec } = record.job;
  const group = view.groups.get(spec.group);
  const most = group?.group.runningTasksMax ?? Number.POSITIVE_INFINITY;
  if (group !== undefined && group.activeTasks >= most) {
    return { kind: "group-full", runningTasksMax: most };
  }
  return target.kind === "node"
    ? verifyNode(view, spec, target.node)
    : verifyCluster(view.clusters, spec, target.cluster);
}

/** The same for shares that are made at once: the sums come from the ledger, not from the planner. */
export function verifySplit(
  view: VerifyView,
  { record, index, shares }: Omit<SplitPlacement, "lane">,
): PlacementRefusal | undefined {
  const { job } = record;
  const { spec } = job;
  const refusal = verifyTask(view, record, index);
  if (refusal !== undefined) return refusal;
  if (record.task(index) !== undefined) return UNKNOWN_TASK;
  const group = view.groups.get(spec.group);
  const most = group?.group.runningTasksMax ?? Number.POSITIVE_INFINITY;
  if (group !== undefined && group.activeTasks + shares.length > most) {
    return { kind: "group-full", runningTasksMax: most };
  }
  const left = (spec.energy?.wattSeconds ?? 0) - view.ledger.placedOf(job.id);
  const asked = shares.reduce((sum, { wattSeconds }) => sum + wattSeconds, 0);
  if (!(asked <= left)) return { kind: "too-much-energy", asked, left };
  const seen = new Set<NodeRecord>();
  for (const { node, wattSeconds } of shares) {
    const refused = verifyNode(view, spec, node);
    if (refused !== undefined) return refused;
    if (seen.has(node) || !isShareFor(spec, node, wattSeconds)) {
      return { kind: "wrong-share", node: node.node.id, wattSeconds };
    }
    seen.add(node);
  }
  return shares.length === 0 ? { kind: "too-much-energy", asked, left } : undefined;
}

function isShareFor({ energy }: JobSpec, { node }: NodeRecord, wattSeconds: number): boolean {
  const { watts = 0, greatestShare = wattSeconds } = node.power ?? {};
  const most = Math.min(energy?.greatestShare ?? 0, greatestShare);
  return watts > 0 && Number.isSafeInteger(wattSeconds) && wattSeconds > 0 && wattSeconds <= most;
}

/**
 * Whether a task may be fetched ahead to a node. The free capacity of the node does not matter: the
 * task replaces another with the same request.
 */
export function verifyHold(
  view: VerifyView,
  { record, index, node }: Pick<TaskPlacement, "record" | "index"> & { readonly node: NodeRecord },
): PlacementRefusal | undefined {
  const refusal = verifyTask(view, record, index);
  if (refusal !== undefined) return refusal;
  const { spec } = record.job;
  const { id, capacity } = node.node;
  if (view.nodes.get(id) !== node) return { kind: "node-unknown", node: id };
  if (!mayHold(node.node)) return { kind: "node-holds-none", node: id };
  if (spec.request !== undefined) return { kind: "graph-not-held" };
  if (spec.energy !== undefined) return { kind: "share-not-held" };
  return askFilters(view, spec, viewOf(node, capacity));
}

/** Whether the task is queued at all. */
function verifyTask(
  { jobs, groups }: VerifyView,
  record: QueuedJobRecord,
  index: number,
): PlacementRefusal | undefined {
  const { job } = record;
  if (groups.get(job.spec.group)?.group.pausedBy !== undefined) return { kind: "group-paused" };
  if (jobs.getOpen(job.id) !== record) return { kind: "job-unknown" };
  if (job.closed !== undefined) return { kind: "job-closed", state: job.closed.kind };
  if (job.waitsFor !== undefined) return { kind: "job-waits" };
  if (isHeldAt(job.hold, positionOf(record.ranges, index))) return { kind: "task-on-hold" };
  const { tasksAtOnce = Number.POSITIVE_INFINITY } = job.spec;
  if (activeTasksOf(record.progress) >= tasksAtOnce) return { kind: "array-full", tasksAtOnce };
  const state = record.task(index)?.state;
  if (state === undefined) return hasIndex(record.ranges, index) ? undefined : UNKNOWN_TASK;
  return state.kind === "waiting" ? undefined : { kind: "task-placed", state: state.kind };
}

const UNKNOWN_TASK: PlacementRefusal = { kind: "task-unknown" };

function verifyNode(
  view: VerifyView,
  request: Request,
  node: NodeRecord,
): PlacementRefusal | undefined {
  const { id } = node.node;
  if (view.nodes.get(id) !== node) return { kind: "node-unknown", node: id };
  return askFilters(view, request, view.ledger.view(node));
}

function askFilters(
  { filters }: VerifyView,
  request: Request,
  judged: FilterNode,
): PlacementRefusal | undefined {
  if (filters.allows(request, judged)) return undefined;
  const verdict = filters.judge(request, judged);
  if (verdict.kind === "yes") return undefined;
  return { kind: "node-refuses", node: judged.node.id, reason: verdict.reason };
}

function verifyCluster(
  clusters: ClusterTable,
  request: Request,
  id: ClusterId,
): PlacementRefusal | undefined {
  const asked = clusterRequestOf(request);
  if (!clusters.graphs.has(id)) return { kind: "cluster-unknown", cluster: id };
  const { cluster = id } = request.where;
  const fits =
    asked !== undefined && cluster === id && clusters.graphs.match(id, asked.compiled).fits;
  if (fits) return undefined;
  return {
    kind: "cluster-refuses",
    cluster: id,
    reasons: pullingAnswer(clusters, id, request).reasons,
  };
}
