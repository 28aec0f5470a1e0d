import { Heap } from "../../lib/heap.ts";
import type { JobId } from "../model/ids.ts";
import type { JobTerms } from "../model/job.ts";
import type { GroupRecord } from "../state/group-record.ts";
import type { JobRecord } from "../state/job-record.ts";
import type { JobTable } from "../state/job-table.ts";
import type { Fleet } from "./fleet.ts";
import { Lane } from "./lane.ts";
import type { Request, RequestClass } from "./request.ts";
import { requestKey } from "./request.ts";

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
    const { priority, needs, where } = terms;
    const last = this.#lastLane;
    // Most jobs ask for what the one before them asked for, and share the objects that say so.
    const isSame =
      last !== undefined &&
      last.group === group &&
      last.priority === priority &&
      last.request.needs === needs &&
      last.request.where === where;
    if (isSame) return last;
    const lane = this.#findLane(group, terms);
    this.#lastLane = lane;
    return lane;
  }

  #findLane(group: GroupRecord, { priority, needs, where }: JobTerms): Lane {
    const key = requestKey({ needs, where });
    const laneKey = `${priority}|${key}`;
    let lane = group.lanes.get(laneKey);
    if (lane === undefined) {
      let request = this.#classes.get(key);
      if (request === undefined) {
        const pool = this.#fleet.poolFor({ needs, where });
        request = { key, needs, where, pool, lanes: new Set(), candidates: undefined };
        this.#classes.set(key, request);
      }
      lane = new Lane(group, priority, request, this.#jobs);
      request.lanes.add(lane);
      group.lanes.set(laneKey, lane);
    }
    return lane;
  }

  /** Gives the lane its place among its group's ready ones, if it has something that can go. */
  markReady(lane: Lane): void {
    const { candidates } = lane.request;
    if (candidates !== undefined && candidates.size === 0) return;
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

  /** The request fits nowhere: its lanes leave the ready ones until a node has room. */
  park(request: RequestClass): void {
    for (const lane of request.lanes) lane.entry = undefined;
  }

  wake(request: RequestClass): void {
    for (const lane of request.lanes) this.markReady(lane);
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
    request.pool.widen(request);
    this.#fleet.leavePool(request.pool);
  }
}
