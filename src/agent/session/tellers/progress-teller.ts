import type { ReportedProgress } from "../../../core/model/job/task-progress.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import { steadyMs } from "../../../ports/clock.ts";
import type { RunId } from "../../../ports/executor.ts";

/** The progress of a run. */
export interface RunProgress {
  readonly id: RunId;
  readonly progress: ReportedProgress;
}

export interface ProgressTellerOptions {
  readonly clock: Clock;
  /** At most `progressRunsPerMessageMax`. */
  send(runs: readonly RunProgress[]): void;
}

/**
 * Sends the progress of runs to the server: for each run the newest, at most once a second, the first after a pause at once. The server
 * acknowledges nothing: the next session sends all of it again.
 */
export class ProgressTeller {
  readonly #options: ProgressTellerOptions;
  readonly #changed = new Map<string, RunProgress>();
  #isWanted = false;
  #sentAtMs = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(options: ProgressTellerOptions) {
    this.#options = options;
  }

  /** Older servers do not ask for it. */
  welcomed(isWanted: boolean, all: Iterable<readonly [string, RunProgress]>): void {
    this.#isWanted = isWanted;
    for (const [key, run] of all) this.changed(key, run);
  }

  changed(key: string, run: RunProgress): void {
    if (!this.#isWanted) return;
    this.#changed.set(key, run);
    const dueMs = this.#sentAtMs + limits.progressTellMs - steadyMs(this.#options.clock);
    this.#cancel ??= this.#options.clock.after(Math.max(0, dueMs), () => this.#tell());
  }

  /** Its end includes its progress. */
  ended(key: string): void {
    this.#changed.delete(key);
  }

  close(): void {
    this.#cancel?.();
    this.#isWanted = false;
  }

  #tell(): void {
    this.#cancel = undefined;
    this.#sentAtMs = steadyMs(this.#options.clock);
    const runs = [...this.#changed.values()];
    this.#changed.clear();
    const { progressRunsPerMessageMax } = limits;
    for (let at = 0; at < runs.length; at += progressRunsPerMessageMax) {
      this.#options.send(runs.slice(at, at + progressRunsPerMessageMax));
    }
  }
}
