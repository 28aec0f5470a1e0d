import { describeChain } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { RemoteShell } from "../../../ports/remote-shell.ts";
import type { KeptBounds } from "../../runs/kept-outputs.ts";
import { KeptOutputs } from "../../runs/kept-outputs.ts";
import type { Place } from "./commands.ts";
import { script } from "./commands.ts";
import { linesOf } from "./run-file.ts";
import { FORGET, LIST_KEPT, REMOVE } from "./scripts.ts";

export interface KeptRunsOptions {
  readonly shell: RemoteShell;
  readonly place: Place;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly bounds: KeptBounds;
}

type Size = { readonly bytes: number; readonly outputLimitBytes: number };

/** Runs on a far machine whose ends the server has: their outputs stay there, within bounds. */
export class KeptRuns {
  readonly #options: KeptRunsOptions;
  readonly #outputs: KeptOutputs;
  readonly #sizes = new Map<string, Size>();
  readonly #toForget = new Set<string>();
  #cancelTimer: (() => void) | undefined;
  #noting: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: KeptRunsOptions) {
    this.#options = options;
    this.#outputs = new KeptOutputs(options.bounds);
  }

  /** What earlier ones have kept. */
  async recover(): Promise<void> {
    const { clock } = this.#options;
    const lines = await this.#run(LIST_KEPT, []);
    const found = new Map<string, { age: number; bytes: number }>();
    for (const line of lines) {
      const [, age, size, key = "", file] = /^(-?\d+) (\d+) (.*)\/(\w+)$/.exec(line) ?? [];
      if (age === undefined) continue;
      const before = found.get(key) ?? { age: 0, bytes: 0 };
      if (file === "known") found.set(key, { ...before, age: Math.max(0, Number(age)) });
      else found.set(key, { ...before, bytes: before.bytes + Number(size) });
    }
    const oldestFirst = [...found].sort(([, a], [, b]) => b.age - a.age);
    for (const [key, { age, bytes }] of oldestFirst) {
      const forgottenAtMs = clock.nowMs() - age * 1_000;
      this.#outputs.add(key, { forgottenAtMs, bytes, outputLimitBytes: 0 });
    }
    await this.#removeSurplus();
  }

  /** How much a run that has ended has left there. */
  note(key: string, size: Size): void {
    this.#sizes.set(key, size);
  }

  forget(key: string): void {
    const size = this.#sizes.get(key) ?? { bytes: 0, outputLimitBytes: 0 };
    this.#sizes.delete(key);
    this.#outputs.add(key, { forgottenAtMs: this.#options.clock.nowMs(), ...size });
    this.#toForget.add(key);
    this.#cancelTimer ??= this.#options.clock.after(limits.remoteForgetMs, () => this.#flush());
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
      const keys = [...this.#toForget].slice(0, limits.remoteSurveyRunsMax);
      await this.#run(FORGET, keys);
      for (const key of keys) this.#toForget.delete(key);
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
