import type { Revision } from "../../core/model/ids.ts";
import { AppError } from "../../lib/errors.ts";
import type { RenderedBlock } from "./rendered-events.ts";
import type { WatchFilter } from "./watch-filter.ts";
import type { WatchFormat, WatchSink } from "./watch-format.ts";

interface WatcherOptions {
  readonly filter: WatchFilter;
  readonly format: WatchFormat;
  readonly sink: WatchSink;
  /** Frees the place of the watch. */
  readonly leave: () => void;
}

/** One watch: its place in the history, and the bytes on their way to its reader. */
export class Watcher {
  readonly filter: WatchFilter;
  readonly format: WatchFormat;
  readonly leave: () => void;
  readonly #sink: WatchSink;
  state: "idle" | "queued" | "blocked" | "over" = "queued";
  /** The place of the next commit, and the block in it. */
  place: number;
  block = 0;
  /** Everything up to this revision was sent. While idle, that is everything. */
  seen: Revision;
  /** Where it began, which may be in the middle of a commit. */
  readonly #from: Revision;
  isGreeted = false;
  /** The reader knows that it has seen everything up to this revision. */
  #announced: Revision;
  #parts: Buffer[] = [];
  #blocks: RenderedBlock[] = [];
  #collectedBytes = 0;
  /** Blocks that the network has not fully accepted. */
  readonly #untaken = new Set<readonly RenderedBlock[]>();
  #isEnded = false;
  #sentBytes = 0;
  #takenBytes = 0;
  /** The value at the last beat, if bytes were on their way then. */
  #stuckAt: { readonly takenBytes: number } | undefined = undefined;

  constructor({ filter, format, sink, leave }: WatcherOptions, place: number, from: Revision) {
    this.filter = filter;
    this.format = format;
    this.leave = leave;
    this.#sink = sink;
    this.place = place;
    this.seen = from;
    this.#from = from;
    this.#announced = from;
  }

  /** For a watch that began in the middle of a commit: only later events. */
  afterIn({ before }: { readonly before: Revision }): Revision | undefined {
    return this.#from > before ? this.#from : undefined;
  }

  get collectedBytes(): number {
    return this.#collectedBytes;
  }

  /** Sent, and not yet taken by the network. */
  get unsentBytes(): number {
    return this.#sentBytes - this.#takenBytes;
  }

  moveTo(place: number, seen: Revision): void {
    this.place = place;
    this.block = 0;
    this.seen = seen;
  }

  /** A watch begins with the revision from which it continues. */
  greet(): void {
    this.isGreeted = true;
    this.#add(this.format.render({ kind: "sync", revision: this.seen }));
  }

  collect(bytes: Buffer, block: RenderedBlock): void {
    if (bytes.length === 0) return;
    this.#add(bytes);
    this.#blocks.push(block);
    block.pins++;
    block.live++;
  }

  #add(bytes: Buffer): void {
    this.#parts.push(bytes);
    this.#collectedBytes += bytes.length;
  }

  /** Sends the collected parts. Calls `taken` when the network has accepted them. */
  flush(taken: () => void): void {
    if (this.#parts.length === 0) return;
    const [parts, blocks, bytes] = [this.#parts, this.#blocks, this.#collectedBytes];
    [this.#parts, this.#blocks, this.#collectedBytes] = [[], [], 0];
    this.#sentBytes += bytes;
    this.#untaken.add(blocks);
    this.#sink.send(parts, () => {
      this.#takenBytes += bytes;
      this.#untaken.delete(blocks);
      for (const block of blocks) {
        block.pins--;
        if (!this.#isEnded) block.live--;
      }
      taken();
    });
  }

  /** Sends an idle reader a bookmark; returns whether its revision was new. */
  bookmark(latest: Revision): boolean {
    if (latest <= this.#announced) return false;
    this.#announced = latest;
    this.#add(this.format.render({ kind: "bookmark", revision: latest }));
    return true;
  }

  /** Whether there were bytes to read at the last beat, and the reader has read none of them. */
  isStuckSinceBeat(): boolean {
    const isStuck = this.#stuckAt?.takenBytes === this.#takenBytes;
    this.#stuckAt = this.unsentBytes > 0 ? { takenBytes: this.#takenBytes } : undefined;
    return isStuck;
  }

  /** The reader still receives everything already sent, and then the error, with the revision to resume from. */
  end(error: AppError, seen: Revision): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    for (const blocks of this.#untaken) for (const block of blocks) block.live--;
    const { code, problem, field, cause } = error;
    // A watch that fell behind the history has no revision to resume from.
    const resumes = code !== "compacted";
    const text = resumes ? `${problem}; resume from revision ${seen}` : problem;
    const revision = resumes ? seen : undefined;
    this.#sink.end(new AppError(code, text, { cause, field, revision }));
  }

  cut(): void {
    this.#sink.cut();
  }
}
