import type { JobId } from "../../model/ids.ts";
import { taskOfKey } from "../row-keys.ts";

/**
 * Task rows of removed jobs that are too many for one batch: they are deleted in several. The job
 * itself is removed with the first batch. No caller sees these rows. A restart skips them and
 * continues deleting, because the stored mark of such a job is deleted with its last row.
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

  /** The first `count` of its rows were deleted. */
  drop(id: JobId, count: number): void {
    this.#jobs.get(id)?.drop(count);
  }

  /** All its rows were deleted. */
  delete(id: JobId): void {
    this.#jobs.delete(id);
  }

  /**
   * Whether a stored row belongs to a task of a removed job: then it is skipped and will be
   * deleted.
   */
  skips(key: string): boolean {
    if (!this.isAny) return false;
    const ref = taskOfKey(key);
    const rows = ref === undefined ? undefined : this.#jobs.get(ref.jobId);
    if (ref === undefined || rows === undefined) return false;
    rows.note(ref.index);
    return true;
  }

  /**
   * The next job whose rows are to be deleted: some of their indexes, and whether they are the
   * last.
   */
  next(max: number): { id: JobId; indexes: readonly number[]; isLast: boolean } | undefined {
    for (const [id, rows] of this.#jobs) {
      const indexes = rows.first(max + 1);
      return { id, indexes: indexes.slice(0, max), isLast: indexes.length <= max };
    }
    return undefined;
  }
}

/** Generates indexes as they are needed: a list of a million would block other work. */
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
