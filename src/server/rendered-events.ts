import { AppError } from "../lib/errors.ts";
import { limits } from "../limits.ts";
import type { KeptCommit } from "./kept-commit.ts";
import { entriesOf, eventOf, isWanted, type WatchSource } from "./watch-entries.ts";
import type { WatchFilter } from "./watch-filter.ts";
import type { WatchFormat } from "./watch-format.ts";

/** One block of a commit in one format. */
export class RenderedBlock {
  /** Each event, once somebody wanted it. */
  readonly parts: (Buffer | undefined)[] = [];
  /** The events of the block that pass a filter, one after the other. */
  readonly selections = new Map<string, Buffer>();
  bytes = 0;
  /** How many watches have sent it and wait until the network has it. */
  pins = 0;
  /** Of those, the watches that have not been ended. */
  live = 0;
}

/**
 * Events as bytes, rendered once for all watches of a format. Bounded: the oldest blocks go first,
 * except those that are on their way to a reader, whose memory would not come back.
 */
export class RenderedEvents {
  readonly #source: WatchSource;
  readonly #blocks = new Map<string, RenderedBlock>();
  #bytes = 0;
  #renders = 0;

  constructor(source: WatchSource) {
    this.#source = source;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** How many events were rendered, ever. */
  get renders(): number {
    return this.#renders;
  }

  /** Of this block what passes the filter, which may be nothing. Throws `compacted`, or as `render` does. */
  select(
    commit: KeptCommit,
    at: number,
    { format, filter }: { readonly format: WatchFormat; readonly filter: WatchFilter },
  ): { readonly bytes: Buffer; readonly block: RenderedBlock } {
    const key = `${format.name} ${commit.revision} ${at}`;
    let block = this.#blocks.get(key);
    if (block === undefined) {
      block = new RenderedBlock();
      this.#blocks.set(key, block);
    }
    const bytes = block.selections.get(filter.key) ?? this.#make(commit, at, format, filter, block);
    return { bytes, block };
  }

  #make(
    commit: KeptCommit,
    at: number,
    format: WatchFormat,
    filter: WatchFilter,
    block: RenderedBlock,
  ): Buffer {
    const { entries, starts } = entriesOf(commit);
    const start = starts[at] ?? 0;
    const end = starts[at + 1] ?? entries.length;
    const wanted: number[] = [];
    const parts: Buffer[] = [];
    let rendered = 0;
    for (const [offset, entry] of entries.slice(start, end).entries()) {
      if (!isWanted(commit, entry, filter, this.#source)) continue;
      let part = block.parts[offset];
      if (part === undefined) {
        const event = eventOf(commit, entry, this.#source);
        if (event === undefined) throw lostJob(commit);
        part = format.render(event);
        block.parts[offset] = part;
        this.#renders++;
        rendered += part.length;
      }
      wanted.push(offset);
      parts.push(part);
    }
    const [only] = parts;
    const selection = parts.length === 1 && only !== undefined ? only : Buffer.concat(parts);
    if (parts.length > 1) {
      // The events from now on are parts of the selection, so that they are held once.
      let from = 0;
      for (const [n, offset] of wanted.entries()) {
        const { length } = parts[n] as Buffer;
        block.parts[offset] = selection.subarray(from, (from += length));
      }
    }
    block.selections.set(filter.key, selection);
    this.#grow(block, parts.length > 1 ? selection.length : rendered);
    return selection;
  }

  #grow(block: RenderedBlock, by: number): void {
    block.bytes += by;
    this.#bytes += by;
  }

  /** Evicts blocks nobody waits for, oldest first, when there are too many; how many bytes stay. */
  makeRoom(): { readonly bytes: number; readonly live: number } {
    if (this.#bytes <= limits.watchRenderedBytesFull) return { bytes: this.#bytes, live: 0 };
    for (const [key, block] of this.#blocks) {
      if (block.pins > 0) continue;
      this.#bytes -= block.bytes;
      this.#blocks.delete(key);
      if (this.#bytes <= limits.watchRenderedBytesMax / 2) break;
    }
    return { bytes: this.#bytes, live: this.#liveBytes() };
  }

  /** Of blocks that a watch waits for which has not been ended. */
  #liveBytes(): number {
    if (this.#bytes <= limits.watchRenderedBytesFull) return 0;
    let bytes = 0;
    for (const block of this.#blocks.values()) if (block.live > 0) bytes += block.bytes;
    return bytes;
  }

  /** Everybody has read everything: only blocks that are still on their way stay. */
  clear(): void {
    for (const [key, block] of this.#blocks) {
      if (block.pins > 0) continue;
      this.#bytes -= block.bytes;
      this.#blocks.delete(key);
    }
  }
}

const lostJob = ({ revision }: KeptCommit): AppError =>
  new AppError(
    "compacted",
    `a job of revision ${revision} was removed since; list again and watch from the revision of ` +
      "that answer",
  );
