import type { JobId } from "../../model/ids.ts";
import { taskOfKey } from "../row-keys.ts";

/**
 * Rows of tasks of jobs that were removed, too many for one batch: they are deleted in several. The
 * job itself is gone with the first. Nobody sees these rows; a restart passes them over and goes on
 * deleting, because the stored mark of such a job goes with its last row.
 */
export class LeftoverRows {
  readonly #jobs = new Map<JobId, Leftover>();

  has(id: JobId): boolean {
    return this.#jobs.has(id);
  }

  get isAny(): boolean {
    return this.#jobs.size > 0;
  }

  add(id: JobId, indexes: Iterable<number>): void {
    this.#jobs.set(id, new Leftover(indexes));
  }

  /** So many of its rows, the first ones, were deleted. */
  drop(id: JobId, count: number): void {
    this.#jobs.get(id)?.drop(count);
  }

  /** All its rows were deleted. */
  delete(id: JobId): void {
    this.#jobs.delete(id);
  }

  /** Whether the stored row is of a task whose job was removed: then it waits to be deleted, too. */
  passesOver(key: string): boolean {
    if (!this.isAny) return false;
    const ref = taskOfKey(key);
    const rows = ref === undefined ? undefined : this.#jobs.get(ref.jobId);
    if (ref === undefined || rows === undefined) return false;
    rows.note(ref.index);
    return true;
  }

  /** The next job whose rows go: some of their indexes, and whether that is all. */
  next(max: number): { id: JobId; indexes: readonly number[]; isLast: boolean } | undefined {
    for (const [id, rows] of this.#jobs) {
      const indexes = rows.first(max + 1);
      return { id, indexes: indexes.slice(0, max), isLast: indexes.length <= max };
    }
    return undefined;
  }
}

/** Takes indexes from their source as they are needed: to list a million would block others. */
class Leftover {
  readonly #source: Iterator<number>;
  #taken: number[] = [];

  constructor(indexes: Iterable<number>) {
    this.#source = indexes[Symbol.iterator]();
  }

  note(index: number): void {
    this.#taken.push(index);
  }

  first(count: number): readonly number[] {
    while (this.#taken.length < count) {
      const next = this.#source.next();
      if (next.done === true) break;
      this.#taken.push(next.value);
    }
    return this.#taken.slice(0, count);
  }

  drop(count: number): void {
    this.#taken = this.#taken.slice(count);
  }
}
