import type { NodeRecord } from "./node-record.ts";

/** The position of a node among others. */
export interface StepPlace {
  readonly record: NodeRecord;
  step: number;
  /** Its neighbours in the same step. */
  before: StepPlace | undefined;
  after: StepPlace | undefined;
}

interface Row {
  readonly step: number;
  first: StepPlace;
  last: StepPlace;
}

const float = new Float32Array(1);
const bits = new Uint32Array(float.buffer);
const BITS_BELOW_STEP = 18;

/** The step of a share. Steps have a relative width of 1/32: an almost empty node differs from an empty one, however little one task takes. */
export function stepOf(share: number): number {
  float[0] = share;
  return (bits[0] ?? 0) >>> BITS_BELOW_STEP;
}

/** Nodes by how full they are. Within a step, the node that has been there longest goes first: nodes that tasks fill only slightly take turns. */
export class FillSteps {
  /** The emptiest first; each has a node. */
  readonly #rows: Row[] = [];

  get isEmpty(): boolean {
    return this.#rows.length === 0;
  }

  /** After the others of the step. */
  add(place: StepPlace, step: number): void {
    place.step = step;
    place.after = undefined;
    const at = this.#rowAt(step);
    const row = this.#rows[at];
    if (row?.step !== step) {
      place.before = undefined;
      this.#rows.splice(at, 0, { step, first: place, last: place });
      return;
    }
    place.before = row.last;
    row.last.after = place;
    row.last = place;
  }

  remove({ step, before, after }: StepPlace): void {
    if (before !== undefined) before.after = after;
    if (after !== undefined) after.before = before;
    if (before !== undefined && after !== undefined) return;
    const at = this.#rowAt(step);
    const row = this.#rows[at];
    if (row === undefined) return;
    if (after !== undefined) row.first = after;
    else if (before !== undefined) row.last = before;
    else this.#rows.splice(at, 1);
  }

  /** The emptiest, or the fullest. */
  first(isFullestFirst: boolean): StepPlace | undefined {
    return (isFullestFirst ? this.#rows.at(-1) : this.#rows[0])?.first;
  }

  /** The one that follows in this order. */
  next(place: StepPlace, isFullestFirst: boolean): StepPlace | undefined {
    if (place.after !== undefined) return place.after;
    return this.#rows[this.#rowAt(place.step) + (isFullestFirst ? -1 : 1)]?.first;
  }

  /** All of them, the emptiest first. */
  records(): readonly NodeRecord[] {
    const records: NodeRecord[] = [];
    for (let at = this.first(false); at !== undefined; at = this.next(at, false)) {
      records.push(at.record);
    }
    return records;
  }

  /** The index of this step, or where to insert it. There are few: similarly loaded nodes share steps. */
  #rowAt(step: number): number {
    let [from, to] = [0, this.#rows.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((this.#rows[middle]?.step ?? 0) < step) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
