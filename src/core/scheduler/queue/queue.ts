import { Heap } from "../../../lib/collections/heap.ts";
import { MultiMap } from "../../../lib/collections/multi-map.ts";
import type { ClusterId, GroupId, JobId, Revision } from "../../model/ids.ts";
import type { JobTerms } from "../../model/job/job.ts";
import type { GroupRecord } from "./group-record.ts";
import type { NodeRecord } from "../nodes/node-record.ts";
import type { Fleet } from "../nodes/fleet.ts";
import { goesBefore, GroupOrder } from "./group-order.ts";
import { Lane, type LaneEntry, laneGoesFirst } from "./lane.ts";
import { ParkedLanes } from "./parked-lanes.ts";
import type { Pool } from "../nodes/pool.ts";
import type { Request, RequestClass } from "../request.ts";
import { isWaiting, dependsOnClusters, requestKey, requestOf } from "../request.ts";
import type { QueuedJobRecord, QueuedJobTable } from "./queued-jobs.ts";

interface WaitingTask {
  readonly atMs: number;
  readonly record: QueuedJobRecord;
  readonly index: number;
}

interface RefusedClass {
  readonly atMs: number;
  readonly request: RequestClass;
}

function goesFirst(a: LaneEntry, b: LaneEntry): boolean {
  if (a.lane.group === b.lane.group) return laneGoesFirst(a, b);
  const [one, other] = [a.lane.group.standing, b.lane.group.standing];
  return one !== undefined && other !== undefined && goesBefore(one, other);
}

/**
 * The queued tasks: one lane per group, priority and request. Follows State.apply; the planner
 * reads it without removing, and skips placed tasks by their rows.
 *
 * Invariant: a lane has exactly one entry. It is among its group's ready lanes, or, once its
 * request class fits nowhere, among the parked lanes of its pool, which the queue searches only
 * when a node of the pool gets free capacity: docs/design/planner.md.
 */
export class Queue {
  readonly #classes = new Map<string, RequestClass>();
  readonly #fleet: Fleet;
  readonly #jobs: QueuedJobTable;
  readonly #groupOf: (id: GroupId) => GroupRecord;
  readonly order: GroupOrder;
  readonly #parked: ParkedLanes;
  /** The largest `pass` that a group was served with. */
  passNow = 0;
  #lastLane: Lane | undefined = undefined;
  #classNumber = 0;
  /** Classes that clusters may serve, by the cluster they name; under undefined those without one. */
  readonly #lookingForClusters = new MultiMap<string | undefined, RequestClass>();
  readonly #waiting = new Heap<WaitingTask>((a, b) => a.atMs < b.atMs);
  readonly #refused = new Heap<RefusedClass>((a, b) => a.atMs < b.atMs);

  constructor(fleet: Fleet, jobs: QueuedJobTable, groupOf: (id: GroupId) => GroupRecord) {
    this.#fleet = fleet;
    this.#jobs = jobs;
    this.#groupOf = groupOf;
    this.order = new GroupOrder(fleet);
    this.#parked = new ParkedLanes(this.order, (lane) => this.#isCurrent(lane));
  }

  get classCount(): number {
    return this.#classes.size;
  }

  /** Whether the planner may find something to place. */
  get mayPlace(): boolean {
    return this.order.hasReady || this.#parked.mayPlace;
  }

  add(group: GroupRecord, record: QueuedJobRecord): void {
    const lane = this.#laneFor(group, record.job.spec.terms);
    if (record.lane === undefined) lane.push(record);
    this.#place(lane);
    this.order.lowered++;
  }

  /** The job is stored as this text, and has these terms. */
  addFolded(
    group: GroupRecord,
    id: JobId,
    {
      text,
      terms,
      revision,
    }: { readonly text: string; readonly terms: JobTerms; readonly revision: Revision },
  ): void {
    const lane = this.#laneFor(group, terms);
    this.#jobs.addFolded(id, text, lane, revision);
    lane.pushFolded(id);
    this.#place(lane);
    this.order.lowered++;
  }

  /** A job of the lane has ended, is held or left: a lane without jobs is removed, also where it is parked. */
  jobLeft(lane: Lane): void {
    this.#place(lane);
  }

  /** The group or priority of the job changed. */
  move(group: GroupRecord, record: QueuedJobRecord): void {
    const { lane } = record;
    record.lane = undefined;
    if (lane !== undefined) this.#place(lane);
    if (record.nextIndex() !== undefined) this.add(group, record);
  }

  /** The task waits for another attempt, not before `atMs`. */
  addWaiting(record: QueuedJobRecord, index: number, atMs: number): void {
    this.#waiting.push({ atMs, record, index });
  }

  /** The time at which the next task in backoff, or the next refused class, may be placed again. */
  nextReleaseMs(): number | undefined {
    const [waiting, refused] = [this.#waiting.peek()?.atMs, this.#refused.peek()?.atMs];
    if (waiting === undefined || refused === undefined) return waiting ?? refused;
    return Math.min(waiting, refused);
  }

  /** Puts tasks whose backoff is over back into their lanes. */
  release(nowMs: number): void {
    this.#retry(nowMs);
    for (;;) {
      const next = this.#waiting.peek();
      if (next === undefined || next.atMs > nowMs) return;
      this.#waiting.pop();
      const { record, index } = next;
      if (record.job.closed !== undefined) continue;
      const group = this.#groupOf(record.job.spec.group);
      if (record.isBackingOff) {
        record.isBackingOff = false;
        if (record.job.waitsFor !== undefined) continue;
        if (record.nextIndex() !== undefined) this.add(group, record);
        continue;
      }
      if (record.task(index)?.state.kind !== "waiting") continue;
      record.addReturned(index);
      this.add(group, record);
    }
  }

  classOf = (request: Request): RequestClass | undefined => this.#classes.get(requestKey(request));

  classes = (): Iterable<RequestClass> => this.#classes.values();

  #laneFor(group: GroupRecord, terms: JobTerms): Lane {
    const { priority, needs, request, select, where } = terms;
    const last = this.#lastLane;
    // Most jobs request the same as the job before, and share its objects.
    const isSame =
      last !== undefined &&
      last.group === group &&
      last.priority === priority &&
      last.request.needs === needs &&
      last.request.request === request &&
      last.request.select === select &&
      last.request.where === where;
    if (isSame) return last;
    const lane = this.#findLane(group, terms);
    this.#lastLane = lane;
    return lane;
  }

  #findLane(group: GroupRecord, terms: JobTerms): Lane {
    const { priority } = terms;
    const key = requestKey(terms);
    const laneKey = `${priority}|${key}`;
    const known = group.lanes.get(laneKey);
    if (known !== undefined) return known;
    let request = this.#classes.get(key);
    if (request === undefined) {
      request = this.#newClass(key, requestOf(terms));
      this.#classes.set(key, request);
      if (request.clustersMayHelp) this.#lookingForClusters.add(request.where.cluster, request);
    }
    const lane = new Lane(group, priority, request, this.#jobs);
    request.lanes.add(lane);
    group.lanes.set(laneKey, lane);
    if (group.lanes.size === 1) this.order.queuedChanged(group);
    return lane;
  }

  #newClass(key: string, asked: Request): RequestClass {
    const pool = this.#fleet.poolFor(asked);
    return {
      ...asked,
      key,
      number: ++this.#classNumber,
      pool,
      amounts: pool.leastOf(asked),
      lanes: new Set(),
      parked: new Set(),
      candidates: undefined,
      triedAt: -1,
      clustersMayHelp: dependsOnClusters(asked),
      retryAtMs: undefined,
      isExternal: false,
    };
  }

  /** The lane whose first job is to be placed next, as far as is known: it may fit nowhere. */
  next(): Lane | undefined {
    const ready = this.#firstReady();
    const parked = this.#parked.first();
    if (ready === undefined || parked === undefined) return ready ?? parked;
    const isOfOneGroup = ready.group === parked.group;
    const [a, b] = isOfOneGroup ? [ready.entry, parked.entry] : [];
    if (a !== undefined && b !== undefined) return laneGoesFirst(b, a) ? parked : ready;
    const [one, other] = [parked.group.standing, ready.group.standing];
    return one !== undefined && other !== undefined && goesBefore(one, other) ? parked : ready;
  }

  /** The parked lane that would be placed first if the node were empty. */
  firstFor(record: NodeRecord): Lane | undefined {
    const { capacity } = record.node;
    const mayFit = (request: RequestClass): boolean =>
      this.#fleet.filters.everAllows(request, record);
    this.order.refresh();
    let best: LaneEntry | undefined;
    for (const pool of this.#fleet.poolsOf(record)) {
      const entry = this.#parked.firstWithin(pool, pool.amountsOf(capacity), mayFit);
      if (entry !== undefined && (best === undefined || goesFirst(entry, best))) best = entry;
    }
    return best?.lane;
  }

  /** The first ready lane of the group that goes first. */
  #firstReady(): Lane | undefined {
    for (;;) {
      this.order.refresh();
      const lane = this.order.firstGroup?.ready.min?.lane;
      if (lane === undefined || this.#isCurrent(lane)) return lane;
    }
  }

  /** Whether the lane is where its first job belongs. Otherwise this moves or drops it. */
  #isCurrent(lane: Lane): boolean {
    const { entry } = lane;
    this.#place(lane);
    return lane.entry === entry;
  }

  /** Gives the lane its entry by its first job; drops a lane without one. */
  #place(lane: Lane): void {
    const first = lane.peek();
    if (first === undefined) this.drop(lane);
    else if (lane.entry?.jobId !== first.job.id) {
      this.#put(lane, first.job.id, lane.entry?.isParked ?? isWaiting(lane.request));
    }
  }

  #put(lane: Lane, jobId: JobId, isParked: boolean): void {
    const { group, request, priority, entry: before } = lane;
    const entry = { lane, priority, jobId, isParked };
    if (before?.isParked === isParked) {
      lane.entry = entry;
      if (isParked) request.pool.waiting.replace(before, entry);
      else group.ready.replace(before, entry);
      return;
    }
    this.#takeOut(lane);
    lane.entry = entry;
    if (isParked) {
      request.parked.add(lane);
      request.pool.waiting.add(entry);
      return;
    }
    group.ready.insert(entry);
    if (group.ready.size === 1) this.order.touch(group);
  }

  #takeOut(lane: Lane): void {
    const { entry, group, request } = lane;
    if (entry === undefined) return;
    lane.entry = undefined;
    if (entry.isParked) {
      request.parked.delete(lane);
      request.pool.waiting.remove(entry);
      return;
    }
    group.ready.remove(entry);
    if (group.ready.size === 0) this.order.touch(group);
  }

  /** Its request fits nowhere: the lane leaves the ready ones until a node or a cluster has free capacity. */
  park(lane: Lane): void {
    const { request, entry } = lane;
    request.clustersMayHelp = false;
    request.pool.triedWithoutFit(request);
    if (entry?.isParked === false) this.#put(lane, entry.jobId, true);
  }

  /**
   * `verify` rejected a placement of the lane. Its class waits as if it fitted nowhere: until a
   * node gets free capacity, a cluster changes, or `retryAtMs`.
   */
  refused(lane: Lane, retryAtMs: number): void {
    const { request } = lane;
    request.pool.narrow(request, new Set());
    this.park(lane);
    if (request.retryAtMs !== undefined) return;
    request.retryAtMs = retryAtMs;
    this.#refused.push({ atMs: retryAtMs, request });
  }

  #retry(nowMs: number): void {
    for (;;) {
      const next = this.#refused.peek();
      if (next === undefined || next.atMs > nowMs) return;
      this.#refused.pop();
      const { request } = next;
      request.retryAtMs = undefined;
      if (this.#classes.get(request.key) !== request) continue;
      request.clustersMayHelp = dependsOnClusters(request);
      this.#widen(request);
    }
  }

  /** Nodes of the pool have new free capacity. */
  freed(pool: Pool): void {
    this.#parked.freed(pool);
  }

  /**
   * Nothing more can be placed now. Wakes the classes that could use the free capacity but whose
   * groups are at their limits: they search for it when they may place tasks again.
   */
  settle(): void {
    for (const pool of this.#parked.pools) {
      if (this.order.hasLimited) this.#widenFitting(pool);
      pool.freed.clear();
    }
    this.#parked.clear();
  }

  #widenFitting(pool: Pool): void {
    const { stamp, nodes } = pool.freed;
    for (const record of nodes) {
      const within = pool.amountsOf(record.free);
      for (;;) {
        const found = pool.narrowed.first(within, (request) => {
          this.#fleet.work.classesAsked++;
          return request.triedAt !== stamp && pool.nodes.fits(request, record);
        });
        if (found === undefined) break;
        this.#widen(found);
      }
    }
  }

  /** Any node may fit again, so its lanes are ready. */
  #widen(request: RequestClass): void {
    request.pool.widen(request);
    for (const lane of request.parked) {
      const { entry } = lane;
      if (entry !== undefined) this.#put(lane, entry.jobId, false);
    }
  }

  /** Runs `run` with a class that has no lanes: for dry runs. */
  withClass<T>(asked: Request, run: (request: RequestClass) => T): T {
    const made = this.#newClass(requestKey(asked), requestOf(asked));
    try {
      return run(made);
    } finally {
      made.pool.widen(made);
      this.#fleet.leavePool(made.pool);
    }
  }

  /** The cluster was added, or its contents or state changed: lanes that wait for it search again. */
  clustersChanged(cluster: ClusterId): void {
    for (const named of [cluster, undefined]) {
      for (const request of this.#lookingForClusters.get(named)) {
        request.clustersMayHelp = true;
        this.#widen(request);
      }
    }
  }

  /** Removes a lane that has nothing more to place, and its class with the last lane. */
  drop(lane: Lane): void {
    const { request, group } = lane;
    this.#takeOut(lane);
    if (this.#lastLane === lane) this.#lastLane = undefined;
    group.lanes.delete(`${lane.priority}|${request.key}`);
    if (group.lanes.size === 0) this.order.queuedChanged(group);
    request.lanes.delete(lane);
    if (request.lanes.size > 0) return;
    this.#classes.delete(request.key);
    this.#lookingForClusters.delete(request.where.cluster, request);
    request.pool.widen(request);
    this.#fleet.leavePool(request.pool);
  }
}
