import type { JobId } from "../model/ids.ts";

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

  /** A row of such a job, while rows are read back. */
  note(id: JobId, index: number): void {
    this.#jobs.get(id)?.note(index);
  }

  /** The next job whose rows go: some of their indexes, and whether that is all. */
  next(max: number): { id: JobId; indexes: readonly number[]; isLast: boolean } | undefined {
    for (const [id, rows] of this.#jobs) {
      const indexes = rows.first(max + 1);
      return { id, indexes: indexes.slice(0, max), isLast: indexes.length <= max };
    }
    return undefined;
  }

  removed(id: JobId, count: number, isLast: boolean): void {
    if (isLast) this.#jobs.delete(id);
    else this.#jobs.get(id)?.drop(count);
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
