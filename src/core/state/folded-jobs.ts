import { invariant } from "../../lib/invariant.ts";
import type { JobId } from "../model/ids.ts";
import type { Lane } from "../scheduler/lane.ts";

const IDS_PER_BLOCK = 4_096;
/** A block is written anew when fewer than one in this many of its jobs are left. */
const LEFT_MIN = 4;

/**
 * Jobs as the text of their stored rows, and the lane each waits in. Texts of neighbouring ids are
 * joined into one long string: it holds no pointers, so that V8 neither follows nor moves it, and it
 * goes as a whole when its last job has left.
 */
export class FoldedJobs {
  readonly #idsPerBlock: number;
  readonly #blocks = new Map<number, Block>();
  #newest: Block | undefined = undefined;
  #size = 0;

  constructor(idsPerBlock = IDS_PER_BLOCK) {
    this.#idsPerBlock = idsPerBlock;
  }

  get size(): number {
    return this.#size;
  }

  /** Ids must rise: they do, as jobs get them when they are submitted and are folded in that order. */
  add(id: JobId, text: string, lane: Lane): void {
    const first = id - (id % this.#idsPerBlock);
    if (this.#newest?.first !== first) {
      this.#newest?.join();
      invariant(first > (this.#newest?.first ?? -1), `job ${id} is folded after younger ones`);
      this.#newest = new Block(first);
      this.#blocks.set(first, this.#newest);
    }
    this.#newest.add(id - first, text, lane);
    this.#size++;
  }

  laneOf(id: JobId): Lane | undefined {
    const block = this.#blockOf(id);
    return block?.lanes[id - block.first];
  }

  textOf(id: JobId): string {
    const block = this.#blockOf(id);
    const text = block?.textAt(id - block.first);
    invariant(text !== undefined, `job ${id} is folded`);
    return text;
  }

  delete(id: JobId): void {
    const block = this.#blockOf(id);
    if (block?.remove(id - block.first) !== true) return;
    this.#size--;
    if (block.left === 0 && block !== this.#newest) this.#blocks.delete(block.first);
  }

  #blockOf(id: JobId): Block | undefined {
    return this.#blocks.get(id - (id % this.#idsPerBlock));
  }
}

/** Jobs of neighbouring ids. While it is the newest its texts stand apart, for more may come. */
class Block {
  readonly first: number;
  readonly lanes: (Lane | undefined)[] = [];
  left = 0;
  #texts: (string | undefined)[] | undefined = [];
  #joined = "";
  /** Where each text begins in the joined one, and at last where that ends. */
  #starts = new Int32Array(0);
  #joinedCount = 0;

  constructor(first: number) {
    this.first = first;
  }

  add(at: number, text: string, lane: Lane): void {
    invariant(this.#texts !== undefined, "only the newest block takes more");
    while (this.lanes.length < at) {
      this.lanes.push(undefined); // not a hole, which would make the array slow
      this.#texts.push(undefined);
    }
    this.lanes.push(lane);
    this.#texts.push(text);
    this.left++;
  }

  textAt(at: number): string | undefined {
    if (this.lanes[at] === undefined) return undefined;
    if (this.#texts !== undefined) return this.#texts[at];
    return this.#joined.slice(this.#starts[at], this.#starts[at + 1]);
  }

  remove(at: number): boolean {
    if (this.lanes[at] === undefined) return false;
    this.lanes[at] = undefined;
    this.left--;
    if (this.#texts !== undefined) this.#texts[at] = undefined;
    else if (this.left * LEFT_MIN < this.#joinedCount) this.join();
    return true;
  }

  join(): void {
    const texts = this.lanes.map((_, at) => this.textAt(at) ?? "");
    const starts = new Int32Array(texts.length + 1);
    for (const [at, text] of texts.entries()) starts[at + 1] = (starts[at] ?? 0) + text.length;
    this.#joined = texts.join("");
    this.#starts = starts;
    this.#joinedCount = this.left;
    this.#texts = undefined;
  }
}
