import { Heap } from "../../lib/heap.ts";
import type { JobId } from "../model/ids.ts";
import type { JobTerms } from "../model/job.ts";
import type { GroupRecord } from "../state/group-record.ts";
import type { JobRecord } from "../state/job-record.ts";
import type { JobTable } from "../state/job-table.ts";
import type { Fleet } from "./fleet.ts";
import { Lane } from "./lane.ts";
import type { Request, RequestClass } from "./request.ts";
import { isWaiting, looksAtClusters, requestKey, requestOf, selectOf } from "./request.ts";

interface WaitingTask {
  readonly atMs: number;
  readonly group: GroupRecord;
  readonly record: JobRecord;
  readonly index: number;
}

/**
 * What waits to be placed: per group and priority and request one lane. Follows State.apply; the
 * planner takes from it by looking, and what was placed is skipped because its row says so.
 *
 * Invariant: a lane that has something to place has an entry in its group's `ready`, unless its
 * request class waits for a node.
 */
export class Queue {
  readonly #classes = new Map<string, RequestClass>();
  readonly #fleet: Fleet;
  readonly #jobs: JobTable;
  /** Groups that may have something to place. */
  readonly active = new Set<GroupRecord>();
  /** The `pass` of the group served last: one that comes back starts there, with no credit. */
  passNow = 0;
  #lastLane: Lane | undefined = undefined;
  /** Classes that clusters may help, by what they have or say. */
  readonly #lookingForClusters = new Set<RequestClass>();
  readonly #waiting = new Heap<WaitingTask>((a, b) => a.atMs < b.atMs);

  constructor(fleet: Fleet, jobs: JobTable) {
    this.#fleet = fleet;
    this.#jobs = jobs;
  }

  get classCount(): number {
    return this.#classes.size;
  }

  add(group: GroupRecord, record: JobRecord): void {
    const lane = this.#laneFor(group, record.job.spec.terms);
    if (record.lane === undefined) lane.push(record);
    this.markReady(lane);
  }

  /** The job is stored as this text, and has these terms. */
  addFolded(
    group: GroupRecord,
    id: JobId,
    { text, terms }: { readonly text: string; readonly terms: JobTerms },
  ): void {
    const lane = this.#laneFor(group, terms);
    this.#jobs.addFolded(id, text, lane);
    lane.pushFolded(id);
    this.markReady(lane);
  }

  /** The task waits for another attempt, not before `atMs`. */
  addWaiting(group: GroupRecord, record: JobRecord, index: number, atMs: number): void {
    this.#waiting.push({ atMs, group, record, index });
  }

  /** When the next waiting task may be placed again. */
  nextReleaseMs(): number | undefined {
    return this.#waiting.peek()?.atMs;
  }

  /** Puts tasks whose backoff is over back into their lanes. */
  release(nowMs: number): void {
    for (;;) {
      const next = this.#waiting.peek();
      if (next === undefined || next.atMs > nowMs) return;
      this.#waiting.pop();
      const { group, record, index } = next;
      if (record.job.closed !== undefined || record.task(index)?.state.kind !== "waiting") continue;
      record.giveBack(index);
      this.add(group, record);
    }
  }

  classOf(request: Request): RequestClass | undefined {
    return this.#classes.get(requestKey(request));
  }

  #laneFor(group: GroupRecord, terms: JobTerms): Lane {
    const { priority, needs, request, select, where } = terms;
    const last = this.#lastLane;
    // Most jobs ask for what the one before them asked for, and share the objects that say so.
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
    let lane = group.lanes.get(laneKey);
    if (lane === undefined) {
      let request = this.#classes.get(key);
      if (request === undefined) {
        request = this.#newClass(key, requestOf(terms));
        this.#classes.set(key, request);
      }
      lane = new Lane(group, priority, request, this.#jobs);
      request.lanes.add(lane);
      group.lanes.set(laneKey, lane);
    }
    return lane;
  }

  #newClass(key: string, asked: Request): RequestClass {
    const pool = this.#fleet.poolFor(asked);
    const clustersMayHelp = looksAtClusters(asked);
    const made: RequestClass = {
      ...asked,
      key,
      pool,
      lanes: new Set(),
      candidates: undefined,
      clustersMayHelp,
      chooseCluster: selectOf(asked),
    };
    if (clustersMayHelp) this.#lookingForClusters.add(made);
    return made;
  }

  /** Gives the lane its place among its group's ready ones, if it has something that can go. */
  markReady(lane: Lane): void {
    if (isWaiting(lane.request)) return;
    const first = lane.peek();
    if (first === undefined) {
      this.drop(lane);
      return;
    }
    if (lane.entry !== undefined && lane.entry.jobId === first.job.id) return;
    lane.entry = { lane, priority: lane.priority, jobId: first.job.id };
    lane.group.ready.push(lane.entry);
    if (this.active.has(lane.group)) return;
    this.active.add(lane.group);
    lane.group.pass = Math.max(lane.group.pass, this.passNow);
  }

  /** The request fits nowhere: its lanes leave the ready ones until a node or a cluster has room. */
  park(request: RequestClass): void {
    request.clustersMayHelp = false;
    for (const lane of request.lanes) lane.entry = undefined;
  }

  wake(request: RequestClass): void {
    for (const lane of request.lanes) this.markReady(lane);
  }

  /** Runs something with a class in which nobody waits: to try what would happen. */
  withClass<T>(asked: Request, run: (request: RequestClass) => T): T {
    const made = this.#newClass(requestKey(asked), requestOf(asked));
    this.#lookingForClusters.delete(made);
    try {
      return run(made);
    } finally {
      made.pool.widen(made);
      this.#fleet.leavePool(made.pool);
    }
  }

  /** A cluster came, or has or says something else: what waited for one looks again. */
  clustersChanged(): void {
    for (const request of this.#lookingForClusters) {
      if (request.candidates !== undefined) {
        request.candidates = undefined;
        request.pool.widen(request);
      }
      request.clustersMayHelp = true;
      this.wake(request);
    }
  }

  /** Forgets a lane that has nothing more to place, and its class with the last lane. */
  drop(lane: Lane): void {
    const { request, group } = lane;
    lane.entry = undefined;
    if (this.#lastLane === lane) this.#lastLane = undefined;
    group.lanes.delete(`${lane.priority}|${request.key}`);
    request.lanes.delete(lane);
    if (request.lanes.size > 0) return;
    this.#classes.delete(request.key);
    this.#lookingForClusters.delete(request);
    request.pool.widen(request);
    this.#fleet.leavePool(request.pool);
  }
}
