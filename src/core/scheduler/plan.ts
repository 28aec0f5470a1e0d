import { invariant } from "../../lib/invariant.ts";
import type { ClusterId } from "../model/ids.ts";
import { dominantShare } from "../model/resources.ts";
import type { ClusterTable } from "./clusters/cluster-table.ts";
import type { NodeRecord } from "./nodes/node-record.ts";
import { chooseCluster, type ClusterPolicy, type Target } from "./clusters/choose-cluster.ts";
import type { Choice } from "./choice.ts";
import type { Fleet } from "./nodes/fleet.ts";
import type { Lane } from "./queue/lane.ts";
import type { NodeLevels } from "./nodes/node-levels.ts";
import { choiceFor, numbersFor, type NodePolicy } from "./nodes/node-policy.ts";
import { drawn, longestAgo } from "./nodes/ordered-search.ts";
import { chooseShares, type NodeShare, energyToSplit } from "./power/choose-shares.ts";
import type { Queue } from "./queue/queue.ts";
import type { Request, RequestClass } from "./request.ts";
import type { QueuedJobRecord } from "./queue/queued-jobs.ts";

/** A proposal to place a task. Only `verify` turns it into a decision. */
export interface TaskPlacement {
  readonly lane: Lane;
  readonly record: QueuedJobRecord;
  readonly index: number;
  readonly target: Target;
}

/** A proposal to make and place shares of a job's energy, with indexes from `index` on. */
export interface SplitPlacement extends Omit<TaskPlacement, "target"> {
  readonly shares: readonly NodeShare[];
}

export type Placement = TaskPlacement | SplitPlacement;

/** Proposes placements. `verify` checks each proposal before it is applied. */
export type Planner = typeof nextPlacement;

/** The state that the planner reads. */
export interface PlanView {
  readonly queue: Queue;
  readonly fleet: Fleet;
  readonly clusters: ClusterTable;
}

export interface PlanPolicy extends ClusterPolicy {
  readonly nodes: NodePolicy;
  /** An external scheduler assigns the shares of jobs with energy: the planner makes none. */
  readonly isEnergyExternal?: boolean;
}

export interface PlanLimits {
  readonly candidatesMax: number;
  readonly wakeChecksMax: number;
  /** For the power that nodes are expected to have. */
  readonly nowMs: number;
}

/** A class with this many candidates searches its pool like any other. */
const CANDIDATES_KEPT_MAX = 256;
/** A search that looks at more nodes than this, times the candidates it wants, is costly. */
const SEARCH_LOOKS_MAX = 4;

/**
 * The next placement, or undefined when nothing can be placed now. Looks at the newest state, so
 * each placement must be applied before the next is asked for.
 *
 * The group that holds the least for its weight goes first; within it the highest priority, then
 * the oldest job; the policy chooses among nodes with free capacity. A request that fits nowhere steps
 * aside, so that it blocks no other, and the planner skips it until a node has capacity for it.
 */
export function nextPlacement(
  view: PlanView,
  policy: PlanPolicy,
  limits: PlanLimits,
): Placement | undefined {
  const { queue, fleet } = view;
  if (fleet.hasImproved) fleet.offerImproved(limits.wakeChecksMax, (pool) => queue.freed(pool));
  for (;;) {
    const lane = queue.next();
    if (lane === undefined) {
      queue.settle();
      return undefined;
    }
    const record = lane.peek();
    const index = record?.nextIndex();
    invariant(record !== undefined && index !== undefined, "the next lane has a task to place");
    if (record.job.spec.energy !== undefined) {
      const shares = sharesOf(lane, record, policy, limits.nowMs);
      if (shares.length > 0) return { lane, record, index, shares };
      queue.park(lane);
      continue;
    }
    const target = chooseTarget(view, lane.request, policy, limits.candidatesMax);
    if (target === undefined) {
      queue.park(lane);
      continue;
    }
    return { lane, record, index, target };
  }
}

function sharesOf(
  { request, group }: Lane,
  record: QueuedJobRecord,
  { isEnergyExternal = false }: PlanPolicy,
  nowMs: number,
): readonly NodeShare[] {
  if (!isEnergyExternal) return chooseShares(request, energyToSplit(record, group), nowMs);
  request.isExternal = true;
  request.pool.narrow(request, new Set()); // as if it fitted nowhere
  return [];
}

/**
 * One or more tasks of the lane were assigned. A group that fell behind, because it was idle or fitted nowhere, goes
 * first once, not more often.
 */
export function countTurn(
  { queue, fleet, clusters }: PlanView,
  { group, request }: Lane,
  tasks = 1,
): void {
  queue.passNow = Math.max(queue.passNow, group.pass);
  const share = tasks * dominantShare(request.needs, fleet.capacity);
  // Without nodes, or without any that have the resource, each offered task counts as one.
  group.pass = queue.passNow + (Number.isFinite(share) ? share : tasks) / group.group.weight;
  queue.order.touch(group);
  if (choosesClusterFirst(request, clusters)) clusters.turn++;
}

/** Whether clusters are chosen first, and nodes in the one that was chosen. */
export const choosesClusterFirst = (
  { request, where }: RequestClass,
  { graphs }: ClusterTable,
): boolean =>
  request !== undefined ||
  where.kind === "pulling" ||
  (where.kind === "any" && !graphs.isEmpty) ||
  (where.cluster !== undefined && graphs.has(where.cluster));

/** Where the next task of this request goes, or undefined: it waits for a node or a cluster. */
export function chooseTarget(
  view: PlanView,
  request: RequestClass,
  policy: PlanPolicy,
  candidatesMax: number,
): Target | undefined {
  const { fleet, clusters } = view;
  if (!choosesClusterFirst(request, clusters)) {
    const node = chooseNode(request, policy.nodes, candidatesMax, fleet);
    return node === undefined ? undefined : { kind: "node", node };
  }
  const nodes = bestOfClusters(view, request, policy.nodes, candidatesMax);
  const { targets, selection } = chooseCluster(clusters, request, nodes, policy);
  const [chosen] = selection.ranked;
  const target = targets.get(chosen?.name ?? "");
  if (target !== undefined) return drawnAgain(view, request, policy.nodes, target, candidatesMax);
  // The planner looks again at nodes that were dropped because of their cluster's state when that state
  // changes; at others when they have free capacity.
  request.pool.narrow(request, new Set());
  return undefined;
}

/** A node drawn in an earlier turn represents its cluster; this turn draws its own. */
function drawnAgain(
  { fleet, clusters }: PlanView,
  request: RequestClass,
  policy: NodePolicy,
  target: Target,
  candidatesMax: number,
): Target {
  if (target.kind !== "node" || policy.kind !== "draw" || clusters.managedCount <= 1) return target;
  const nodes = request.pool.byCluster().get(target.node.node.cluster);
  if (nodes === undefined || isNarrow(request)) return target;
  const node = searchNodes(nodes.levels, request, { policy, candidatesMax, fleet });
  return node === undefined ? target : { kind: "node", node };
}

/** The best node with free capacity of each cluster. */
function bestOfClusters(
  { fleet, clusters }: PlanView,
  request: RequestClass,
  policy: NodePolicy,
  candidatesMax: number,
): ReadonlyMap<ClusterId, NodeRecord> {
  if (clusters.managedCount <= 1 || request.where.cluster !== undefined) {
    const node = chooseNode(request, policy, candidatesMax, fleet);
    return new Map(node === undefined ? [] : [[node.node.cluster, node]]);
  }
  return isNarrow(request)
    ? compareByCluster(request, policy, candidatesMax, fleet)
    : searchClusters(request, policy, candidatesMax, fleet);
}

/** Any node may fit: searches the clusters where something changed since the last search. */
function searchClusters(
  request: RequestClass,
  policy: NodePolicy,
  candidatesMax: number,
  fleet: Fleet,
): ReadonlyMap<ClusterId, NodeRecord> {
  const { pool } = request;
  const found = new Map<ClusterId, NodeRecord>();
  let costly = false;
  const search = (nodes: NodeLevels): NodeRecord | undefined => {
    const before = fleet.work.nodesLookedAt;
    const best = searchNodes(nodes, request, { policy, candidatesMax, fleet });
    costly ||= fleet.work.nodesLookedAt - before > SEARCH_LOOKS_MAX * candidatesMax;
    return best;
  };
  for (const [cluster, best] of pool.bestOfClusters(search)) {
    if (best !== undefined) found.set(cluster, best);
  }
  if (costly) {
    const candidates = pool.nodes.allFitting(request, CANDIDATES_KEPT_MAX);
    if (candidates !== undefined) pool.narrow(request, candidates);
  }
  return found;
}

/** Only candidates and freed nodes can fit. */
function compareByCluster(
  request: RequestClass,
  policy: NodePolicy,
  candidatesMax: number,
  fleet: Fleet,
): ReadonlyMap<ClusterId, NodeRecord> {
  const best = new Map<ClusterId, Choice>();
  const offersMax = offersMaxOf(policy, candidatesMax);
  offerFitting(request, (record) => {
    const { cluster } = record.node;
    const known = best.get(cluster) ?? choiceFor(policy, request, fleet);
    if (known.offered === 0) best.set(cluster, known);
    if (known.offered < offersMax) known.offer(record);
    return true;
  });
  return new Map(
    [...best].flatMap(([cluster, { record }]) => (record === undefined ? [] : [[cluster, record]])),
  );
}

/** Scores may be compared for a sample; whose turn it is, and a fair draw, need all nodes. */
const offersMaxOf = ({ kind }: NodePolicy, candidatesMax: number): number =>
  kind === "score" ? candidatesMax : Number.POSITIVE_INFINITY;

function chooseNode(
  request: RequestClass,
  policy: NodePolicy,
  candidatesMax: number,
  fleet: Fleet,
): NodeRecord | undefined {
  if (!isNarrow(request)) return searchPool(request, policy, candidatesMax, fleet);
  const offersMax = offersMaxOf(policy, candidatesMax);
  const choice = choiceFor(policy, request, fleet);
  offerFitting(request, (record) => {
    choice.offer(record);
    return choice.offered < offersMax;
  });
  return choice.record;
}

/** Whether few nodes are known to be the only ones that can fit. */
const isNarrow = ({ pool, candidates }: RequestClass): boolean =>
  candidates !== undefined && pool.freed.size <= CANDIDATES_KEPT_MAX;

/** For a narrowed class: offers the nodes with free capacity while more are wanted; drops other candidates. */
function offerFitting(request: RequestClass, offer: (record: NodeRecord) => boolean): void {
  const { pool, candidates } = request;
  for (const record of candidates ?? []) {
    if (!pool.nodes.has(record) || !pool.nodes.fits(request, record)) {
      candidates?.delete(record);
    } else if (!offer(record)) return;
  }
  for (const record of pool.freed.nodes) {
    if (candidates?.has(record) === true) continue;
    if (pool.nodes.fits(request, record) && !offer(record)) return;
  }
}

function searchPool(
  request: RequestClass,
  policy: NodePolicy,
  candidatesMax: number,
  fleet: Fleet,
): NodeRecord | undefined {
  const { pool } = request;
  const before = fleet.work.nodesLookedAt;
  const found = searchNodes(pool.nodes, request, { policy, candidatesMax, fleet });
  const looked = fleet.work.nodesLookedAt - before;
  // A search that found nothing, or had to pass many nodes that do not fit (short of something
  // else than cpu), is not made again: from now on only nodes known to have room are looked at.
  const isCostly = looked > SEARCH_LOOKS_MAX * candidatesMax;
  if (found === undefined) pool.narrow(request, new Set());
  else if (isCostly) {
    const candidates = pool.nodes.allFitting(request, CANDIDATES_KEPT_MAX);
    if (candidates !== undefined) pool.narrow(request, candidates);
  }
  return found;
}

interface Search {
  readonly policy: NodePolicy;
  readonly candidatesMax: number;
  readonly fleet: Fleet;
}

function searchNodes(
  nodes: NodeLevels,
  request: Request,
  { policy, candidatesMax, fleet }: Search,
): NodeRecord | undefined {
  switch (policy.kind) {
    case "score":
      return nodes.best(request, policy.scorer, candidatesMax);
    case "longest-ago":
      return longestAgo(nodes, request, candidatesMax);
    case "draw":
      return drawn(nodes, request, numbersFor(policy.seed, fleet), candidatesMax);
  }
}
