import { Heap } from "../../../lib/collections/heap.ts";
import type { JobId } from "../../model/ids.ts";
import type { GroupRecord } from "./group-record.ts";
import type { RequestClass } from "../request.ts";
import type { QueuedJobRecord, QueuedJobTable } from "./queued-jobs.ts";

/** A lane's place: among its group's ready lanes, or among those parked in its pool. */
export interface LaneEntry {
  readonly lane: Lane;
  readonly priority: number;
  /** The lane's first job when the entry was made. */
  readonly jobId: JobId;
  /** Its class fits nowhere: it waits in the pool until a node has free capacity for it. */
  readonly isParked: boolean;
}

/** Within a group: highest priority first, then the oldest job. */
export const laneGoesFirst = (a: LaneEntry, b: LaneEntry): boolean =>
  a.priority > b.priority || (a.priority === b.priority && a.jobId < b.jobId);

/**
 * Jobs of one group and priority with equal requests, oldest first. Jobs stay until they have
 * nothing more to place; cancelled, held and moved jobs are dropped when they come first.
 */
export class Lane {
  readonly group: GroupRecord;
  readonly priority: number;
  readonly request: RequestClass;
  /** Its only entry. */
  entry: LaneEntry | undefined = undefined;
  readonly #jobs: QueuedJobTable;
  // New jobs have the largest id, so they need no heap; jobs with a task to place again do. Only
  // ids, because the jobs behind the first are mostly folded.
  readonly #fresh: JobId[] = [];
  #head = 0;
  readonly #returned = new Heap<QueuedJobRecord>((a, b) => a.job.id < b.job.id);

  constructor(group: GroupRecord, priority: number, request: RequestClass, jobs: QueuedJobTable) {
    this.group = group;
    this.priority = priority;
    this.request = request;
    this.#jobs = jobs;
  }

  push(record: QueuedJobRecord): void {
    record.lane = this;
    const last = this.#fresh.at(-1);
    if (last === undefined || last < record.job.id) this.#fresh.push(record.job.id);
    else this.#returned.push(record);
  }

  /** Ids come in rising order while rows are read back. */
  pushFolded(id: JobId): void {
    this.#fresh.push(id);
  }

  /** The oldest job with a task to place. Drops those in front of it that have none. */
  peek(): QueuedJobRecord | undefined {
    const fresh = this.#peekFresh();
    const returned = this.#peekReturned();
    if (fresh === undefined || returned === undefined) return fresh ?? returned;
    return fresh.job.id < returned.job.id ? fresh : returned;
  }

  #peekFresh(): QueuedJobRecord | undefined {
    for (;;) {
      const id = this.#fresh[this.#head];
      if (id === undefined) {
        this.#fresh.length = 0;
        this.#head = 0;
        return undefined;
      }
      const record = this.#jobs.openWaiting(id);
      if (record?.lane === this) {
        if (record.nextIndex() !== undefined) return record;
        record.lane = undefined;
      }
      this.#head++; // it has nothing to place, or is in another lane by now
      if (this.#head >= 1_024 && this.#head * 2 > this.#fresh.length) {
        this.#fresh.splice(0, this.#head);
        this.#head = 0;
      }
    }
  }

  #peekReturned(): QueuedJobRecord | undefined {
    for (;;) {
      const record = this.#returned.peek();
      if (record === undefined) return undefined;
      if (record.lane === this) {
        if (record.nextIndex() !== undefined) return record;
        record.lane = undefined;
      }
      this.#returned.pop();
    }
  }
}
