import type { Executor, RunId } from "../ports/executor.ts";
import type { Reported } from "./outbox.ts";

export const runKey = (id: RunId): string => `${id.jobId}.${id.index}.${id.attempt}`;

/** The runs an agent knows, with their latest reports, across sessions. */
export class KnownRuns {
  readonly #executor: Executor;
  readonly #runs = new Map<string, Reported>();
  readonly #countByJob = new Map<number, number>();

  /** `onChange` hears each report after it was noted. */
  constructor(executor: Executor, onChange: (key: string, reported: Reported) => void) {
    this.#executor = executor;
    for (const run of executor.known()) this.#note(run);
    executor.onReport((id, report) => onChange(this.#note({ id, report }), { id, report }));
  }

  get(id: RunId): Reported | undefined {
    return this.#runs.get(runKey(id));
  }

  entries(): IterableIterator<[string, Reported]> {
    return this.#runs.entries();
  }

  hasJob(jobId: number): boolean {
    return this.#countByJob.has(jobId);
  }

  /** The server has it for good. */
  forget(id: RunId): void {
    this.#executor.forget(id);
    if (!this.#runs.delete(runKey(id))) return;
    const left = (this.#countByJob.get(id.jobId) ?? 1) - 1;
    if (left > 0) this.#countByJob.set(id.jobId, left);
    else this.#countByJob.delete(id.jobId);
  }

  #note(run: Reported): string {
    const key = runKey(run.id);
    if (!this.#runs.has(key)) {
      this.#countByJob.set(run.id.jobId, (this.#countByJob.get(run.id.jobId) ?? 0) + 1);
    }
    this.#runs.set(key, run);
    return key;
  }
}
