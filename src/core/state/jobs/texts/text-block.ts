/**
 * The size of one page. The C library maps blocks of this size one by one, and unmaps them when
 * freed.
 */
const PAGE_BYTES = 128 * 1024;
/** A page is compacted when fewer than one in this many of its texts are left. */
const LEFT_MIN = 4;
/**
 * Per text: the length of its own part, and the lengths of the prefix and suffix that it shares
 * with the model.
 */
const HEADER_BYTES = 8;
/** Longer texts are no models: most of their length is their own part anyway. */
const MODEL_CHARS_MAX = 2_048;
const NO_TEXT = 0;
/** The number of empty pages to keep for reuse by any block. */
const SPARES_MAX = 32;

interface Page {
  readonly bytes: Buffer;
  /**
   * Its first text, from which others store only their difference, and the frame of the last text.
   */
  frame: Frame;
  usedBytes: number;
  /** Texts written, and those of them not removed. */
  texts: number;
  left: number;
}

/** Allocates pages, empty ones first: the garbage collector frees others late. */
export class PagePool {
  readonly #spares: Buffer[] = [];

  take(bytesMin: number): Page {
    const spare = bytesMin <= PAGE_BYTES ? this.#spares.pop() : undefined;
    const bytes = spare ?? Buffer.alloc(Math.max(PAGE_BYTES, bytesMin));
    return { bytes, frame: NO_FRAME, usedBytes: 0, texts: 0, left: 0 };
  }

  release({ bytes }: Page): void {
    if (bytes.length === PAGE_BYTES && this.#spares.length < SPARES_MAX) this.#spares.push(bytes);
  }
}

/**
 * Texts at places 0 to size - 1, in pages outside V8's heap: the garbage collector neither scans
 * nor moves them, and a page is freed as a whole when its last text is removed. Rows of jobs that
 * were submitted together are similar, so a page stores of each text only the middle part that
 * differs from the first text of the page. Texts are JSON, which has no lone surrogates.
 */
export class TextBlock {
  readonly #pool: PagePool;
  /** From the second on. */
  readonly #pages: (Page | undefined)[] = [undefined];
  /** The number of the page that new texts are added to. */
  #last = 0;
  /**
   * For each text: the number of its page, times the bytes of a page, plus its offset in the page.
   */
  readonly #positions: Uint32Array;

  constructor(size: number, pool = new PagePool()) {
    this.#pool = pool;
    this.#positions = new Uint32Array(size);
  }

  /** For tests. */
  get pageCount(): number {
    return this.#pages.filter((page) => page !== undefined).length;
  }

  /** `at` must be empty. */
  put(at: number, text: string): void {
    let page = this.#pages[this.#last];
    let frame = narrow(page?.frame ?? NO_FRAME, text);
    let middle = middleOf(text, frame);
    let bytes = Buffer.byteLength(middle);
    if (page === undefined || page.usedBytes + HEADER_BYTES + bytes > PAGE_BYTES) {
      frame = NO_FRAME;
      middle = text;
      bytes = Buffer.byteLength(text);
      page = this.#addPage(HEADER_BYTES + bytes);
    }
    const offset = page.usedBytes;
    this.#positions[at] = this.#last * PAGE_BYTES + offset;
    page.bytes.writeUInt32LE(bytes, offset);
    page.bytes.writeUInt16LE(frame.begin.length, offset + 4);
    page.bytes.writeUInt16LE(frame.end.length, offset + 6);
    page.bytes.write(middle, offset + HEADER_BYTES, bytes);
    page.usedBytes += HEADER_BYTES + bytes;
    page.left++;
    page.frame = frame;
    // Read back: `text` may be a slice of a longer string, which it would keep in memory.
    if (page.texts++ === 0 && text.length <= MODEL_CHARS_MAX) {
      page.frame = { model: this.get(at) ?? "", begin: "", end: "" };
    }
  }

  get(at: number): string | undefined {
    const position = this.#positions[at] ?? NO_TEXT;
    const page = this.#pages[Math.floor(position / PAGE_BYTES)];
    if (page === undefined) return undefined;
    const { bytes, frame } = page;
    const { model } = frame;
    const offset = position % PAGE_BYTES;
    const begin = offset + HEADER_BYTES;
    const middle = bytes.toString("utf8", begin, begin + bytes.readUInt32LE(offset));
    const suffix = bytes.readUInt16LE(offset + 6);
    return (
      model.slice(0, bytes.readUInt16LE(offset + 4)) + middle + model.slice(model.length - suffix)
    );
  }

  remove(at: number): void {
    const number = Math.floor((this.#positions[at] ?? NO_TEXT) / PAGE_BYTES);
    const page = this.#pages[number];
    if (page === undefined) return;
    this.#positions[at] = NO_TEXT;
    page.left--;
    if (number !== this.#last && page.left * LEFT_MIN < page.texts) this.#empty(page, number);
    else if (page.left === 0) Object.assign(page, { frame: NO_FRAME, usedBytes: 0, texts: 0 });
  }

  #addPage(bytesMin: number): Page {
    const free = this.#pages.indexOf(undefined, 1);
    this.#last = free < 0 ? this.#pages.length : free;
    const page = this.#pool.take(bytesMin);
    this.#pages[this.#last] = page;
    return page;
  }

  /** Moves its texts to the last page. */
  #empty(page: Page, number: number): void {
    const first = number * PAGE_BYTES;
    for (let at = 0; page.left > 0; at++) {
      const position = this.#positions[at] ?? NO_TEXT;
      if (position < first || position >= first + PAGE_BYTES) continue;
      this.put(at, this.get(at) ?? "");
      page.left--;
    }
    this.#pages[number] = undefined;
    this.#pool.release(page);
  }
}

/** The lengths of the prefix and suffix that texts share with a model. */
interface Frame {
  readonly model: string;
  readonly begin: string;
  readonly end: string;
}

const NO_FRAME: Frame = { model: "", begin: "", end: "" };

const middleOf = (text: string, { begin, end }: Frame): string =>
  text.slice(begin.length, text.length - end.length);

/**
 * The frame of a text. Most texts share as much with the model as the one `before`. Comparing
 * slices takes a third of the time of `startsWith`.
 */
function narrow(before: Frame, text: string): Frame {
  const { model } = before;
  const shorter = Math.min(text.length, model.length);
  let begin = text.slice(0, before.begin.length) === before.begin ? before.begin.length : 0;
  while (begin < shorter && text.charCodeAt(begin) === model.charCodeAt(begin)) begin++;
  if (begin > 0 && isHighSurrogate(text.charCodeAt(begin - 1))) begin--; // do not split a surrogate pair
  const max = shorter - begin;
  let end =
    before.end.length <= max && text.slice(text.length - before.end.length) === before.end
      ? before.end.length
      : 0;
  const ofText = text.length - 1;
  const ofModel = model.length - 1;
  while (end < max && text.charCodeAt(ofText - end) === model.charCodeAt(ofModel - end)) end++;
  if (end > 0 && isLowSurrogate(text.charCodeAt(text.length - end))) end--;
  if (begin === before.begin.length && end === before.end.length) return before;
  return { model, begin: model.slice(0, begin), end: model.slice(model.length - end) };
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;
const isLowSurrogate = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff;
