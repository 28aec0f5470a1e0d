import type { ToldProgress } from "../../../core/model/job/task-progress.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import { steadyMs } from "../../../ports/clock.ts";
import type { RunId } from "../../../ports/executor.ts";

/** How far a run is. */
export interface RunProgress {
  readonly id: RunId;
  readonly progress: ToldProgress;
}

export interface ProgressTellerOptions {
  readonly clock: Clock;
  /** At most `progressRunsPerMessageMax`. */
  send(runs: readonly RunProgress[]): void;
}

/**
 * Tells the server how far runs are: of each the newest, once a second at most, the first after a pause at
 * once. Nothing is acknowledged: the next session tells all of it again.
 */
export class ProgressTeller {
  readonly #options: ProgressTellerOptions;
  readonly #changed = new Map<string, RunProgress>();
  #isWanted = false;
  #toldAtMs = Number.NEGATIVE_INFINITY;
  #cancel: (() => void) | undefined;

  constructor(options: ProgressTellerOptions) {
    this.#options = options;
  }

  /** Older servers do not want to know. */
  welcomed(isWanted: boolean, all: Iterable<readonly [string, RunProgress]>): void {
    this.#isWanted = isWanted;
    for (const [key, run] of all) this.changed(key, run);
  }

  changed(key: string, run: RunProgress): void {
    if (!this.#isWanted) return;
    this.#changed.set(key, run);
    const dueMs = this.#toldAtMs + limits.progressTellMs - steadyMs(this.#options.clock);
    this.#cancel ??= this.#options.clock.after(Math.max(0, dueMs), () => this.#tell());
  }

  /** Its end says how far it came. */
  ended(key: string): void {
    this.#changed.delete(key);
  }

  close(): void {
    this.#cancel?.();
    this.#isWanted = false;
  }

  #tell(): void {
    this.#cancel = undefined;
    this.#toldAtMs = steadyMs(this.#options.clock);
    const runs = [...this.#changed.values()];
    this.#changed.clear();
    const { progressRunsPerMessageMax } = limits;
    for (let at = 0; at < runs.length; at += progressRunsPerMessageMax) {
      this.#options.send(runs.slice(at, at + progressRunsPerMessageMax));
    }
  }
}
