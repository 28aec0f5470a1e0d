import { describeChain } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { RemoteShell } from "../../../ports/remote-shell.ts";
import type { KeptBounds } from "../../runs/ledger/kept-outputs.ts";
import { KeptOutputs } from "../../runs/ledger/kept-outputs.ts";
import type { Place } from "./commands.ts";
import { script } from "./commands.ts";
import { linesOf } from "./run-file.ts";
import { FORGET, LIST_KEPT, REMOVE, REMOVE_DIRECTORIES } from "./kept-scripts.ts";

export interface KeptRunsOptions {
  readonly shell: RemoteShell;
  readonly place: Place;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly bounds: KeptBounds;
}

/** Runs on a far machine whose ends the server has: their outputs stay there, within bounds. */
export class KeptRuns {
  readonly #options: KeptRunsOptions;
  readonly #outputs: KeptOutputs;
  /** Bytes of output of runs that have ended. */
  readonly #sizes = new Map<string, number>();
  /** With the directories that go with them. */
  readonly #toForget = new Map<string, string>();
  #cancelTimer: (() => void) | undefined;
  #noting: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: KeptRunsOptions) {
    this.#options = options;
    this.#outputs = new KeptOutputs(options.bounds);
  }

  /** What earlier ones have kept, and left behind: directories that no run works in any more. */
  async recover(inUse: ReadonlySet<string>): Promise<void> {
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
    for (const [key, { age, bytes }] of oldestFirst) {
      const forgottenAtMs = clock.nowMs() - age * 1_000;
      this.#keep(key, forgottenAtMs, bytes);
    }
    await this.#removeSurplus();
    const old = lines.filter((line) => line.startsWith("old ")).map((line) => line.slice(4));
    const idle = old.filter((name) => !inUse.has(name)).slice(0, limits.remoteSurveyRunsMax);
    if (idle.length > 0) await this.#run(REMOVE_DIRECTORIES, idle);
  }

  /** How much a run that has ended has left there. */
  note(key: string, bytes: number): void {
    this.#sizes.set(key, bytes);
  }

  /** `work` is the directory that nobody needs any more. */
  forget(key: string, work: string | undefined): void {
    this.#keep(key, this.#options.clock.nowMs(), this.#sizes.get(key) ?? 0);
    this.#sizes.delete(key);
    this.#toForget.set(key, work ?? "-");
    this.#cancelTimer ??= this.#options.clock.after(limits.remoteForgetMs, () => this.#flush());
  }

  /** Their limits are in their own files. */
  #keep(key: string, forgottenAtMs: number, bytes: number): void {
    this.#outputs.add(key, { forgottenAtMs, bytes, outputLimitBytes: 0 });
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
        await this.#noteForgotten();
        await this.#removeSurplus();
      } catch (error) {
        if (this.#options.shell.closed.aborted || this.#isClosed) return; // found again, and told again
        this.#options.logger.warn({ error: describeChain(error) }, "ends could not be noted yet");
        this.#cancelTimer ??= this.#options.clock.after(limits.remoteSurveyMs, () => this.#flush());
      }
    });
  }

  async #noteForgotten(): Promise<void> {
    while (this.#toForget.size > 0) {
      const some = [...this.#toForget].slice(0, limits.remoteSurveyRunsMax);
      await this.#run(
        FORGET,
        some.map(([key, work]) => `${key} ${work}`),
      );
      for (const [key] of some) this.#toForget.delete(key);
    }
  }

  async #removeSurplus(): Promise<void> {
    const surplus = this.#outputs.takeSurplus(this.#options.clock.nowMs()).map(([key]) => key);
    for (let at = 0; at < surplus.length; at += limits.remoteSurveyRunsMax) {
      await this.#run(REMOVE, surplus.slice(at, at + limits.remoteSurveyRunsMax));
    }
  }

  async #run(text: string, keys: readonly string[]): Promise<string[]> {
    const { shell, place } = this.#options;
    const command = script(place, text, place.directory, ...keys);
    const { stdout } = await shell.exec(command, { timeoutMs: limits.remoteCommandMsMax });
    const lines = linesOf(stdout);
    if (lines.pop() !== "all")
      throw new Error(`a script on its machine failed: ${place.directory}`);
    return lines;
  }
}
