/** Texts that stand apart before they are joined. */
const APART_MAX = 256;
/** A segment is taken apart when fewer than one in this many of its texts are left. */
const LEFT_MIN = 4;
const APART = 0;

interface Segment {
  readonly text: string;
  /** Where each text begins, and at last where the last one ends. */
  readonly starts: Int32Array;
  left: number;
}

/**
 * Texts at places 0 to size - 1. Some hundred are joined into one long string, a segment: it holds
 * no pointers, so that V8 neither follows nor moves it, and it goes as a whole when the last of its
 * texts has left.
 */
export class TextBlock {
  #apart = new Map<number, string>();
  /** From the second on; 0 stands for those that are apart. */
  readonly #segments: (Segment | undefined)[] = [undefined];
  readonly #segmentAt: Uint16Array;
  /** Which of its segment's texts it is. */
  readonly #placeAt: Uint16Array;

  constructor(size: number) {
    this.#segmentAt = new Uint16Array(size);
    this.#placeAt = new Uint16Array(size);
  }

  /** Where no text stands. */
  put(at: number, text: string): void {
    this.#segmentAt[at] = APART;
    this.#apart.set(at, text);
    if (this.#apart.size >= APART_MAX) this.join();
  }

  get(at: number): string | undefined {
    const segment = this.#segments[this.#segmentAt[at] ?? APART];
    if (segment === undefined) return this.#apart.get(at);
    const place = this.#placeAt[at] ?? 0;
    return segment.text.slice(segment.starts[place], segment.starts[place + 1]);
  }

  remove(at: number): void {
    const number = this.#segmentAt[at] ?? APART;
    const segment = this.#segments[number];
    if (segment === undefined) {
      this.#apart.delete(at);
      return;
    }
    this.#segmentAt[at] = APART;
    segment.left--;
    if (segment.left * LEFT_MIN < segment.starts.length - 1) this.#takeApart(number);
  }

  /** Joins those that are apart. */
  join(): void {
    const texts = this.#apart;
    if (texts.size === 0) return;
    const starts = new Int32Array(texts.size + 1);
    const number = this.#freeNumber();
    let place = 0;
    for (const [at, text] of texts) {
      this.#segmentAt[at] = number;
      this.#placeAt[at] = place;
      starts[place + 1] = (starts[place] ?? 0) + text.length;
      place++;
    }
    this.#segments[number] = { text: [...texts.values()].join(""), starts, left: texts.size };
    this.#apart = new Map();
  }

  #freeNumber(): number {
    const free = this.#segments.indexOf(undefined, 1);
    return free < 0 ? this.#segments.length : free;
  }

  /** Its texts are joined anew, with others that are apart: parts of it would keep it whole. */
  #takeApart(number: number): void {
    const { left } = this.#segments[number] ?? { left: 0 };
    for (let at = 0, found = 0; found < left; at++) {
      if (this.#segmentAt[at] !== number) continue;
      found++;
      const text = this.get(at);
      this.#segmentAt[at] = APART;
      if (text !== undefined) this.#apart.set(at, text);
    }
    this.#segments[number] = undefined;
    if (left > 0) this.join();
  }
}
