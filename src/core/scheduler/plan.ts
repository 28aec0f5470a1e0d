import type { ClusterId } from "../model/ids.ts";
import { dominantShare } from "../model/resources.ts";
import type { ClusterTable } from "../state/cluster-table.ts";
import type { GroupRecord } from "../state/group-record.ts";
import type { JobRecord } from "../state/job-record.ts";
import type { NodeRecord } from "../state/node-record.ts";
import { chooseCluster, type ClusterPolicy, type Target } from "./choose-cluster.ts";
import type { Choice } from "./choice.ts";
import { takesNow } from "./takes.ts";
import type { Fleet } from "./fleet.ts";
import type { Lane } from "./lane.ts";
import { choiceFor, numbersFor, type NodePolicy } from "./node-policy.ts";
import { drawn, longestAgo } from "./ordered-search.ts";
import type { Queue } from "./queue.ts";
import type { RequestClass } from "./request.ts";

/** A proposal: this task goes there. Only `verify` turns it into a decision. */
export interface Placement {
  readonly record: JobRecord;
  readonly index: number;
  readonly target: Target;
}

/** What the planner looks at. */
export interface PlanView {
  readonly queue: Queue;
  readonly fleet: Fleet;
  readonly clusters: ClusterTable;
}

export interface PlanPolicy extends ClusterPolicy {
  readonly nodes: NodePolicy;
}

export interface PlanLimits {
  readonly candidatesMax: number;
  readonly wakeChecksMax: number;
}

/** A class with this many nodes to choose from searches its pool like any other. */
const CANDIDATES_KEPT_MAX = 256;
/** A search that looks at more nodes than this, times the candidates it wants, is costly. */
const SEARCH_LOOKS_MAX = 4;

/**
 * The next placement, or undefined when nothing can be placed now. Looks at the newest state, so
 * each placement must be applied before the next is asked for.
 *
 * The group that holds the least for its weight goes first; within it the highest priority, then
 * the oldest job; the policy chooses among nodes with room. A request that fits nowhere steps
 * aside, so that it blocks no other, and is not looked at again until a node gets room for it.
 */
export function nextPlacement(
  view: PlanView,
  policy: PlanPolicy,
  limits: PlanLimits,
): Placement | undefined {
  const { queue, fleet } = view;
  if (fleet.hasImproved) fleet.offerImproved(limits.wakeChecksMax, (woken) => queue.wake(woken));
  for (;;) {
    const group = neediestGroup(queue, fleet);
    if (group === undefined) return undefined;
    const lane = firstLane(queue, group);
    const record = lane?.peek();
    const index = record?.nextIndex();
    if (lane === undefined || record === undefined || index === undefined) continue;
    const target = chooseTarget(view, lane.request, policy, limits.candidatesMax);
    if (target === undefined) {
      queue.park(lane.request);
      continue;
    }
    queue.passNow = group.pass;
    const share = dominantShare(lane.request.needs, fleet.capacity);
    // Where there are no nodes, or none that have it, tasks that are offered count alike.
    group.pass += (Number.isFinite(share) ? share : 1) / group.group.weight;
    if (isOfClusters(lane.request, view.clusters)) view.clusters.turn++;
    return { record, index, target };
  }
}

/** Linear in the groups that have something to place, not in all groups, jobs or tasks. */
function neediestGroup(queue: Queue, fleet: Fleet): GroupRecord | undefined {
  let best: GroupRecord | undefined;
  let bestShare = 0;
  for (const record of queue.active) {
    const { weight, runningTasksMax } = record.group;
    if (record.ready.size === 0) {
      queue.active.delete(record);
      continue;
    }
    if (runningTasksMax !== undefined && record.activeTasks >= runningTasksMax) continue;
    const share = dominantShare(record.used, fleet.capacity) / weight;
    const tie = best !== undefined && share === bestShare;
    if (best === undefined || share < bestShare || (tie && goesBefore(record, best))) {
      best = record;
      bestShare = share;
    }
  }
  return best;
}

const goesBefore = (a: GroupRecord, b: GroupRecord): boolean =>
  a.pass < b.pass || (a.pass === b.pass && a.group.id < b.group.id);

/** The group's first lane whose entry is up to date; undefined: look again at all groups. */
function firstLane(queue: Queue, group: GroupRecord): Lane | undefined {
  const entry = group.ready.peek();
  if (entry === undefined) return undefined;
  const { lane } = entry;
  if (lane.entry === entry && lane.peek()?.job.id === entry.jobId) return lane;
  group.ready.pop();
  if (lane.entry === entry) {
    lane.entry = undefined;
    queue.markReady(lane); // with its new first job, or not at all
  }
  return undefined;
}

/** Whether clusters are chosen first, and nodes in the one that was chosen. */
const isOfClusters = ({ request, where }: RequestClass, { graphs }: ClusterTable): boolean =>
  request !== undefined ||
  where.kind === "pulling" ||
  (where.cluster !== undefined && graphs.has(where.cluster));

/** Where the next task of this request goes, or undefined: it waits for a node or a cluster. */
export function chooseTarget(
  view: PlanView,
  request: RequestClass,
  policy: PlanPolicy,
  candidatesMax: number,
): Target | undefined {
  const { fleet, clusters } = view;
  if (!isOfClusters(request, clusters)) {
    const node = chooseNode(request, policy.nodes, candidatesMax, fleet);
    return node === undefined ? undefined : { kind: "node", node };
  }
  const nodes = bestOfClusters(view, request, policy.nodes, candidatesMax);
  const { targets, selection } = chooseCluster(clusters, request, nodes, policy);
  const [chosen] = selection.ranked;
  if (chosen !== undefined) return targets.get(chosen.name);
  // Nodes that were dropped for what their cluster says are looked at again when it says something
  // else; others when they get room.
  if (request.candidates === undefined) request.pool.narrow(request);
  request.candidates = new Set();
  return undefined;
}

/** Of each cluster the best node with room. */
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
  const best = new Map<ClusterId, Choice>();
  const offersMax = offersMaxOf(policy, candidatesMax);
  const { pool, candidates } = request;
  for (const record of candidates ?? pool.nodes()) {
    fleet.work.nodesLookedAt++;
    if (!pool.has(record) || takesNow(request, record) === undefined) {
      candidates?.delete(record);
      continue;
    }
    const { cluster } = record.node;
    const known = best.get(cluster) ?? choiceFor(policy, request, fleet);
    if (known.offered === 0) best.set(cluster, known);
    if (known.offered < offersMax) known.offer(record);
  }
  return new Map(
    [...best].flatMap(([cluster, { record }]) => (record === undefined ? [] : [[cluster, record]])),
  );
}

/** Scores may be compared for some only; whose turn it is, and a fair draw, is a matter of all. */
const offersMaxOf = ({ kind }: NodePolicy, candidatesMax: number): number =>
  kind === "score" ? candidatesMax : Number.POSITIVE_INFINITY;

function chooseNode(
  request: RequestClass,
  policy: NodePolicy,
  candidatesMax: number,
  fleet: Fleet,
): NodeRecord | undefined {
  const { pool, candidates } = request;
  if (candidates === undefined) {
    const before = fleet.work.nodesLookedAt;
    const found = searchPool(request, policy, candidatesMax, fleet);
    const looked = fleet.work.nodesLookedAt - before;
    // A search that found nothing, or had to pass many nodes that do not fit (short of something
    // else than cpu), is not made again: from now on only nodes known to have room are looked at.
    const isCostly = looked > SEARCH_LOOKS_MAX * candidatesMax;
    const rest = found === undefined ? new Set<NodeRecord>() : undefined;
    request.candidates = isCostly ? pool.allFitting(request, CANDIDATES_KEPT_MAX) : rest;
    if (request.candidates !== undefined) pool.narrow(request);
    return found;
  }
  if (candidates.size > CANDIDATES_KEPT_MAX) {
    request.candidates = undefined;
    pool.widen(request);
    return chooseNode(request, policy, candidatesMax, fleet);
  }
  const offersMax = offersMaxOf(policy, candidatesMax);
  const choice = choiceFor(policy, request, fleet);
  for (const record of candidates) {
    fleet.work.nodesLookedAt++;
    if (pool.has(record) && takesNow(request, record) !== undefined) choice.offer(record);
    else candidates.delete(record);
    if (choice.offered >= offersMax) break;
  }
  return choice.record;
}

function searchPool(
  request: RequestClass,
  policy: NodePolicy,
  candidatesMax: number,
  fleet: Fleet,
): NodeRecord | undefined {
  const { pool } = request;
  switch (policy.kind) {
    case "score":
      return pool.best(request, policy.scorer, candidatesMax);
    case "longest-ago":
      return longestAgo(pool, request, candidatesMax);
    case "draw":
      return drawn(pool, request, numbersFor(policy.seed, fleet), candidatesMax);
  }
}
