import { fits, dominantShare } from "../model/resources.ts";
import type { GroupRecord } from "../state/group-record.ts";
import type { JobRecord } from "../state/job-record.ts";
import type { NodeRecord } from "../state/node-record.ts";
import type { Fleet } from "./fleet.ts";
import type { Lane } from "./lane.ts";
import { Best } from "./pool.ts";
import type { Queue } from "./queue.ts";
import type { RequestClass } from "./request.ts";
import type { Scorer } from "./scorers/scorer.ts";

/** A proposal: this task on that node. Only `verify` turns it into a decision. */
export interface Placement {
  readonly record: JobRecord;
  readonly index: number;
  readonly node: NodeRecord;
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
 * the oldest job; the scorer chooses among nodes with room. A request that fits nowhere steps
 * aside, so that it blocks no other, and is not looked at again until a node gets room for it.
 */
export function nextPlacement(
  queue: Queue,
  fleet: Fleet,
  scorer: Scorer,
  limits: PlanLimits,
): Placement | undefined {
  if (fleet.hasImproved) fleet.offerImproved(limits.wakeChecksMax, (woken) => queue.wake(woken));
  for (;;) {
    const group = neediestGroup(queue, fleet);
    if (group === undefined) return undefined;
    const lane = firstLane(queue, group);
    const record = lane?.peek();
    const index = record?.nextIndex();
    if (lane === undefined || record === undefined || index === undefined) continue;
    const node = chooseNode(lane.request, scorer, limits.candidatesMax, fleet);
    if (node === undefined) {
      queue.park(lane.request);
      continue;
    }
    queue.passNow = group.pass;
    group.pass += dominantShare(lane.request.needs, fleet.capacity) / group.group.weight;
    return { record, index, node };
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

function chooseNode(
  request: RequestClass,
  scorer: Scorer,
  candidatesMax: number,
  fleet: Fleet,
): NodeRecord | undefined {
  const score = (record: NodeRecord): number => scorer.score(request, record);
  const { pool, needs, candidates } = request;
  if (candidates === undefined) {
    const before = fleet.work.nodesLookedAt;
    const found = pool.best(needs, { order: scorer.order, score, candidatesMax });
    const looked = fleet.work.nodesLookedAt - before;
    // A search that found nothing, or had to pass many nodes that do not fit (short of something
    // else than cpu), is not made again: from now on only nodes known to have room are looked at.
    const isCostly = looked > SEARCH_LOOKS_MAX * candidatesMax;
    const rest = found === undefined ? new Set<NodeRecord>() : undefined;
    request.candidates = isCostly ? pool.allFitting(needs, CANDIDATES_KEPT_MAX) : rest;
    if (request.candidates !== undefined) pool.narrow(request);
    return found;
  }
  if (candidates.size > CANDIDATES_KEPT_MAX) {
    request.candidates = undefined;
    pool.widen(request);
    return chooseNode(request, scorer, candidatesMax, fleet);
  }
  const best = new Best(score);
  for (const record of candidates) {
    fleet.work.nodesLookedAt++;
    if (pool.has(record) && fits(needs, record.free)) best.offer(record);
    else candidates.delete(record);
    if (best.offered >= candidatesMax) break;
  }
  return best.record;
}
