import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { KeptCommit } from "./kept-commit.ts";
import type { Revision } from "../../core/model/ids.ts";
import {
  entriesOf,
  eventOf,
  isWanted,
  nextBlock,
  revisionBefore,
  type WatchSource,
} from "./watch-entries.ts";
import type { WatchFilter } from "./watch-filter.ts";
import type { WatchFormat, WatchPacking } from "./watch-format.ts";

interface Selection {
  /** "plain": packing gains nothing, and the hub sends the plain bytes. */
  readonly bytes: Buffer | "plain";
  /** The first block after it. */
  readonly next: number;
}

interface Wanted {
  readonly format: WatchFormat;
  readonly filter: WatchFilter;
  /** Only later events: for a watch that began in the middle of the commit. */
  readonly after: Revision | undefined;
}

/** Watches with the same key get the same events of a commit. */
const keyOf = ({ filter, after }: Omit<Wanted, "format">): string =>
  after === undefined ? filter.key : `${filter.key}@${after}`;

/** Bytes to send, the block that holds them, and the block after them. */
interface Selected extends Selection {
  readonly bytes: Buffer;
  readonly block: RenderedBlock;
}

/** The bytes of one block of a commit in one format; packed bytes may include the blocks after it. */
export class RenderedBlock {
  /** Each event, rendered when a watch first needs it. */
  readonly parts: (Buffer | undefined)[] = [];
  /** The events that pass a filter, one after another. */
  readonly selections = new Map<string, Selection>();
  bytes = 0;
  /** The number of watches that have sent it and wait for the network. */
  pins = 0;
  /** Of those, the watches that have not been ended. */
  live = 0;
  readonly #home: BlockList;
  readonly #at: number;

  constructor(home: BlockList, at: number) {
    this.#home = home;
    this.#at = at;
    home[at] = this;
  }

  leave(): void {
    this.#home[this.#at] = undefined;
  }
}

/** The blocks of one commit in one format, by their first entries. */
type BlockList = (RenderedBlock | undefined)[];

/**
 * Events as bytes, rendered once for all watches of a format. Bounded: evicts the oldest blocks first,
 * except those under way to a reader, whose memory it could not free.
 */
export class RenderedEvents {
  readonly #source: WatchSource;
  /** Oldest first. */
  readonly #blocks = new Set<RenderedBlock>();
  readonly #ofCommit = new WeakMap<KeptCommit, Map<WatchFormat, BlockList>>();
  #bytes = 0;
  #renders = 0;
  #packs = 0;
  #packedBytes = 0;
  /** The work left before other work has its turn. */
  #slice = { rendersMax: 0, packedBytesMax: 0 };

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

  /** How many blocks were packed, ever. */
  get packs(): number {
    return this.#packs;
  }

  beginSlice(): void {
    this.#slice = {
      rendersMax: this.#renders + limits.watchRendersPerSliceMax,
      packedBytesMax: this.#packedBytes + limits.watchPackedBytesPerSliceMax,
    };
  }

  /** Whether enough was rendered and packed for one slice. */
  get isSliceOver(): boolean {
    return (
      this.#renders >= this.#slice.rendersMax || this.#packedBytes >= this.#slice.packedBytesMax
    );
  }

  /**
   * The events of this block that pass the filter; in a packed format also those of some blocks after it. There may be none. Throws
   * `compacted`, or as `render` does.
   */
  select(commit: KeptCommit, at: number, { format, filter, after }: Wanted): Selected {
    const block = this.#blockOf(commit, at, format);
    const known = block.selections.get(keyOf({ filter, after }));
    if (known?.bytes instanceof Buffer) return { bytes: known.bytes, next: known.next, block };
    const { packing } = format;
    if (packing === undefined) {
      const bytes = this.#render(commit, at, { format, filter, after }, block);
      return { bytes, next: at + 1, block };
    }
    const wanted = { format: packing.from, filter, after };
    if (known !== undefined) return this.select(commit, at, wanted);
    return this.#pack(commit, at, { packing, filter, after }, block);
  }

  /** Packs as many blocks together as are rendered in this slice: fewer parts, and better compressed. */
  #pack(
    commit: KeptCommit,
    at: number,
    { packing, filter, after }: Omit<Wanted, "format"> & { readonly packing: WatchPacking },
    block: RenderedBlock,
  ): Selected {
    const wanted = { format: packing.from, filter, after };
    const key = keyOf(wanted);
    const first = this.select(commit, at, wanted);
    const parts = [first.bytes];
    let { next } = first;
    let bytes = first.bytes.length;
    while (bytes < limits.watchRunBytesMax && !this.isSliceOver) {
      const following = nextBlock(commit, filter, next, after);
      if (following === undefined) break;
      const more = this.select(commit, following, wanted);
      parts.push(more.bytes);
      bytes += more.bytes.length;
      ({ next } = more);
    }
    if (bytes === 0) return { ...first, next };
    const plain = parts.length === 1 ? first.bytes : Buffer.concat(parts, bytes);
    const packed = packing.pack(plain, revisionBefore(commit, next));
    this.#packs++;
    this.#packedBytes += bytes;
    if (packed === plain) {
      block.selections.set(key, { bytes: "plain", next: first.next });
      return first;
    }
    block.selections.set(key, { bytes: packed, next });
    this.#grow(block, packed.length);
    return { bytes: packed, next, block };
  }

  #blockOf(commit: KeptCommit, at: number, format: WatchFormat): RenderedBlock {
    let ofFormat = this.#ofCommit.get(commit);
    if (ofFormat === undefined) this.#ofCommit.set(commit, (ofFormat = new Map()));
    let list = ofFormat.get(format);
    if (list === undefined) ofFormat.set(format, (list = []));
    const known = list[at];
    if (known !== undefined) return known;
    const block = new RenderedBlock(list, at);
    this.#blocks.add(block);
    return block;
  }

  #render(
    commit: KeptCommit,
    at: number,
    { format, filter, after }: Wanted,
    block: RenderedBlock,
  ): Buffer {
    const { entries, revisions, starts } = entriesOf(commit);
    const start = starts[at] ?? 0;
    const end = starts[at + 1] ?? entries.length;
    const wanted: number[] = [];
    const parts: Buffer[] = [];
    let rendered = 0;
    for (const [offset, entry] of entries.slice(start, end).entries()) {
      const own = revisions[start + offset] ?? commit.revision;
      if (after !== undefined && own <= after) continue;
      if (!isWanted(commit, entry, filter, this.#source)) continue;
      let part = block.parts[offset];
      if (part === undefined) {
        const event = eventOf(commit, entry, own, this.#source);
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
    block.selections.set(keyOf({ filter, after }), { bytes: selection, next: at + 1 });
    this.#grow(block, parts.length > 1 ? selection.length : rendered);
    return selection;
  }

  #grow(block: RenderedBlock, by: number): void {
    block.bytes += by;
    this.#bytes += by;
  }

  /** Evicts blocks that no watch waits for, oldest first, when there are too many; returns the remaining bytes. */
  makeRoom(): { readonly bytes: number; readonly live: number } {
    if (this.#bytes <= limits.watchRenderedBytesFull) return { bytes: this.#bytes, live: 0 };
    for (const block of this.#blocks) {
      if (block.pins > 0) continue;
      this.#drop(block);
      if (this.#bytes <= limits.watchRenderedBytesMax / 2) break;
    }
    return { bytes: this.#bytes, live: this.#liveBytes() };
  }

  /** Bytes of blocks that a watch waits for; ended watches do not count. */
  #liveBytes(): number {
    if (this.#bytes <= limits.watchRenderedBytesFull) return 0;
    let bytes = 0;
    for (const block of this.#blocks) if (block.live > 0) bytes += block.bytes;
    return bytes;
  }

  #drop(block: RenderedBlock): void {
    this.#bytes -= block.bytes;
    this.#blocks.delete(block);
    block.leave();
  }

  /** All watches have read everything: keeps only blocks that are still under way. */
  clear(): void {
    for (const block of this.#blocks) {
      if (block.pins > 0) continue;
      this.#drop(block);
    }
  }
}

const lostJob = ({ revision }: KeptCommit): AppError =>
  new AppError(
    "compacted",
    `the job of revision ${revision} was removed; list again and watch from the revision of ` +
      "that answer",
  );
