import type { RowWrite } from "../../src/ports/store.ts";

/** The rows that callers may read and watch, by table. */
const SHOWN = /^(?:job|node|cluster|group)\//;
const TASK = /^task\/(\d+)\//;

/**
 * The revision of each shown row, as anyone could compute it from the disk: that of its row, and for a job also the one after each of its
 * tasks' rows (docs/design/revisions.md).
 */
export class ShownRows {
  readonly #revisions = new Map<string, number>();
  /** Revisions that watchers must receive, rising. */
  readonly visible: number[] = [];

  clear(): void {
    this.#revisions.clear();
  }

  /** The revision of the row at a key like "job/0000000007". */
  of(key: string): number | undefined {
    return this.#revisions.get(key);
  }

  /** The rows of one batch. */
  note(writes: readonly RowWrite[]): void {
    const heard = new Set<number>();
    const jobs = new Set<string>();
    for (const write of writes) {
      const { key, value, revision = 0 } = write;
      const task = TASK.exec(key);
      if (value === undefined) {
        if (this.#revisions.delete(key) || SHOWN.test(key)) heard.add(revision);
        continue;
      }
      this.put(write);
      if (task !== null) {
        heard.add(revision);
        jobs.add(`job/${task[1]}`);
      } else if (key.startsWith("job/")) jobs.add(key);
      else if (SHOWN.test(key)) heard.add(revision);
    }
    // One event for each job, however many of its tasks changed.
    for (const key of jobs) heard.add(this.#revisions.get(key) ?? 0);
    this.visible.push(...[...heard].sort((a, b) => a - b));
  }

  put({ key, revision = 0 }: RowWrite): void {
    const task = TASK.exec(key);
    if (task !== null) this.#raise(`job/${task[1]}`, revision + 1);
    else if (SHOWN.test(key)) this.#raise(key, revision);
  }

  #raise(key: string, revision: number): void {
    this.#revisions.set(key, Math.max(this.#revisions.get(key) ?? 0, revision));
  }
}
