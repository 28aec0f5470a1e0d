import { formatBytes, formatDuration } from "../../../lib/units.ts";
import { limits } from "../../../limits.ts";
import { OutputQueue } from "./output-queue.ts";

export interface KeptOutput<Terms = unknown> {
  readonly forgottenAtMs: number;
  readonly bytes: number;
  readonly outputLimitBytes: number;
  /** Its run failed: it is retained longer than others. */
  readonly failed?: true | undefined;
  /** Its directory contains nothing else and can serve another run; undefined: unknown. */
  readonly isClean?: boolean;
  /** It is empty and has no directory; undefined: unknown. */
  readonly isEmpty?: boolean;
  /** For executors that need them to find the output. */
  readonly terms?: Terms | undefined;
}

export interface KeptBounds {
  readonly runsMax: number;
  readonly bytesMax: number;
  /** For failed runs, `limits.outputKeptFailedFactor` times as long. */
  readonly ageMsMax: number;
}

export const KEPT_BOUNDS: KeptBounds = {
  runsMax: limits.outputKeptRunsMax,
  bytesMax: limits.outputKeptBytesMax,
  ageMsMax: limits.outputKeptMsMax,
};

/** The limit for which an output was removed. */
type RemovalCause = "count" | "size" | "age";

interface OutputRemoval {
  readonly atMs: number;
  readonly cause: RemovalCause;
}

/**
 * The retained outputs of dropped runs, within bounds. The oldest are removed first. If there are too many or
 * they are too large, outputs of succeeded runs are removed before those of failed runs, unless the failed ones
 * have more than half of the limit. It remembers the latest removals, so that readers learn why.
 */
export class KeptOutputs<Terms = unknown> {
  readonly #bounds: KeptBounds;
  readonly #fine = new OutputQueue<KeptOutput<Terms>>();
  readonly #failed = new OutputQueue<KeptOutput<Terms>>();
  readonly #removals = new Map<string, OutputRemoval>(); // oldest first

  constructor(bounds: KeptBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#fine.size + this.#failed.size;
  }

  get(key: string): KeptOutput<Terms> | undefined {
    return this.#fine.get(key) ?? this.#failed.get(key);
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  *entries(): Generator<[string, KeptOutput<Terms>]> {
    yield* this.#fine.entries();
    yield* this.#failed.entries();
  }

  add(key: string, output: KeptOutput<Terms>): void {
    this.remove(key);
    this.#removals.delete(key);
    (output.failed === true ? this.#failed : this.#fine).add(key, output);
  }

  /** False when there was none. */
  remove(key: string): boolean {
    return this.#fine.remove(key) || this.#failed.remove(key);
  }

  /** Returns and drops the outputs that exceed the limits of count, size or age; the caller deletes the files. */
  takeSurplus(nowMs: number): [key: string, output: KeptOutput<Terms>][] {
    const surplus: [string, KeptOutput<Terms>][] = [];
    for (;;) {
      const next = this.#tooOld(nowMs) ?? this.#tooMuch();
      if (next === undefined) return surplus;
      const [key, output, cause] = next;
      this.remove(key);
      this.#noteRemoval(key, { atMs: nowMs, cause });
      surplus.push([key, output]);
    }
  }

  /** When the next one expires; undefined when there is none. */
  nextSurplusAtMs(): number | undefined {
    const fine = this.#expiryIn(this.#fine);
    const failed = this.#expiryIn(this.#failed);
    if (fine === undefined || failed === undefined) return fine ?? failed;
    return Math.min(fine, failed);
  }

  /** Why an ended run has no output here, for people. */
  whyGone(key: string): string {
    const { runsMax, bytesMax, ageMsMax } = this.#bounds;
    const kept = `output of ${runsMax} tasks, ${formatBytes(bytesMax)}, ${formatDuration(ageMsMax)}`;
    const longer = `of failed ones ${limits.outputKeptFailedFactor} times as long`;
    const rule = `this node retains ${kept} (${longer}; --keep-output)`;
    const removal = this.#removals.get(key);
    if (removal === undefined) return `it was removed, or is that of another agent: ${rule}`;
    const words = { count: "too many outputs", size: "outputs too large together", age: "its age" };
    return `it was removed at ${new Date(removal.atMs).toISOString()} for ${words[removal.cause]}: ${rule}`;
  }

  #expiryOf({ forgottenAtMs, failed }: KeptOutput<Terms>): number {
    const times = failed === true ? limits.outputKeptFailedFactor : 1;
    return forgottenAtMs + this.#bounds.ageMsMax * times;
  }

  /** When its oldest output expires. */
  #expiryIn(queue: OutputQueue<KeptOutput<Terms>>): number | undefined {
    const oldest = queue.oldest();
    return oldest && this.#expiryOf(oldest[1]);
  }

  #tooOld(nowMs: number) {
    return this.#tooOldIn(this.#fine, nowMs) ?? this.#tooOldIn(this.#failed, nowMs);
  }

  #tooOldIn(queue: OutputQueue<KeptOutput<Terms>>, nowMs: number) {
    const oldest = queue.oldest();
    if (oldest === undefined || nowMs < this.#expiryOf(oldest[1])) return undefined;
    return [...oldest, "age"] as const;
  }

  #tooMuch() {
    const { runsMax, bytesMax } = this.#bounds;
    const bytes = this.#fine.bytes + this.#failed.bytes;
    if (this.size <= runsMax && bytes <= bytesMax) return undefined;
    const isMostlyFailed = this.#failed.size > runsMax / 2 || this.#failed.bytes > bytesMax / 2;
    const [first, second] = isMostlyFailed
      ? [this.#failed, this.#fine]
      : [this.#fine, this.#failed];
    const oldest = first.oldest() ?? second.oldest();
    return oldest && ([...oldest, this.size > runsMax ? "count" : "size"] as const);
  }

  #noteRemoval(key: string, removal: OutputRemoval): void {
    this.#removals.set(key, removal);
    if (this.#removals.size <= limits.outputRemovalsMax) return;
    for (const oldest of this.#removals.keys()) {
      this.#removals.delete(oldest);
      return;
    }
  }
}
