import { describeChain } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { RemoteShell } from "../../../ports/remote-shell.ts";
import type { KeptOutput } from "../../runs/ledger/kept-outputs.ts";
import type { RemotePlace } from "./commands.ts";
import { markOf, script } from "./commands.ts";
import { linesOf } from "./run-file.ts";
import { FORGET, LIST_KEPT, REMOVE, REMOVE_DIRECTORIES } from "./scripts/kept-scripts.ts";

export interface KeptRunsOptions {
  readonly shell: RemoteShell;
  readonly place: RemotePlace;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Writes to the remote machine which runs are dropped and which are removed, in batches, like the entries
 * "forgotten" and "removed" of a journal.
 */
export class KeptRuns {
  readonly #options: KeptRunsOptions;
  /** With their directories. */
  readonly #toForget = new Map<string, string>();
  readonly #toRemove = new Set<string>();
  #cancelTimer: (() => void) | undefined;
  #noting: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: KeptRunsOptions) {
    this.#options = options;
  }

  /** Outputs that earlier executors retained. Removes unused working directories. */
  async recover(inUse: ReadonlySet<string>): Promise<[key: string, output: KeptOutput<never>][]> {
    const { clock } = this.#options;
    const lines = await this.#run(LIST_KEPT, []);
    const found = new Map<string, { age: number; bytes: number }>();
    for (const line of lines) {
      const [, age, size, key = "", file] = /^(-?\d+) (\d+) (.*)\.(\w+)$/.exec(line) ?? [];
      if (age === undefined) continue;
      const before = found.get(key) ?? { age: 0, bytes: 0 };
      if (file === "known") found.set(key, { ...before, age: Math.max(0, Number(age)) });
      else found.set(key, { ...before, bytes: before.bytes + Number(size) });
    }
    const oldestFirst = [...found].sort(([, a], [, b]) => b.age - a.age);
    const old = lines.filter((line) => line.startsWith("old ")).map((line) => line.slice(4));
    const idle = old.filter((name) => !inUse.has(name)).slice(0, limits.remoteSurveyRunsMax);
    if (idle.length > 0) await this.#run(REMOVE_DIRECTORIES, idle);
    const nowMs = clock.nowMs();
    return oldestFirst.map(([key, { age, bytes }]) => [
      key,
      { forgottenAtMs: nowMs - age * 1_000, bytes, outputLimitBytes: 0 },
    ]);
  }

  /** `work` is a directory that is no longer needed. */
  forget(key: string, work: string | undefined): void {
    this.#toForget.set(key, work ?? "-");
    this.#cancelTimer ??= this.#options.clock.after(limits.remoteForgetMs, () => this.#flush());
  }

  /** Written with the next `write`, or soon after the next `forget`. */
  remove(key: string): void {
    this.#toRemove.add(key);
  }

  /** The run is started again: its files must not be removed. */
  spare(key: string): void {
    this.#toRemove.delete(key);
  }

  async close(): Promise<void> {
    if (!this.#isClosed && !this.#options.shell.closed.aborted) this.#flush();
    this.#isClosed = true;
    this.#cancelTimer?.();
    await this.#noting;
  }

  #flush(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#noting = this.#noting.then(async () => {
      try {
        await this.write();
      } catch (error) {
        if (this.#options.shell.closed.aborted || this.#isClosed) return; // found again, and reported again
        this.#options.logger.warn(
          { error: describeChain(error) },
          "could not write ends of runs to the worker's machine; trying again",
        );
        this.#cancelTimer ??= this.#options.clock.after(limits.remoteSurveyMs, () => this.#flush());
      }
    });
  }

  /** Throws when the machine is unreachable; the next call writes what this one could not. */
  async write(): Promise<void> {
    while (this.#toForget.size > 0) {
      const some = [...this.#toForget].slice(0, limits.remoteSurveyRunsMax);
      const runs = some.map(([key, work]) => `${key} ${work}`);
      await this.#run(FORGET, [markOf(this.#options.place), ...runs]);
      for (const [key] of some) this.#toForget.delete(key);
    }
    while (this.#toRemove.size > 0) {
      const some = [...this.#toRemove].slice(0, limits.remoteSurveyRunsMax);
      await this.#run(REMOVE, some);
      for (const key of some) this.#toRemove.delete(key);
    }
  }

  async #run(text: string, args: readonly string[]): Promise<string[]> {
    const { shell, place } = this.#options;
    const command = script(place, text, place.directory, ...args);
    const { stdout } = await shell.exec(command, { timeoutMs: limits.remoteCommandMsMax });
    const lines = linesOf(stdout);
    if (lines.pop() !== "all")
      throw new Error(`a script on its machine failed: ${place.directory}`);
    return lines;
  }
}
