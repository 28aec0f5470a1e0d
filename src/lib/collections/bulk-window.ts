export interface BulkWindowLimits {
  readonly bytesMin: number;
  readonly bytesStart: number;
  readonly bytesMax: number;
  /** A small message may wait this long behind the bytes under way. */
  readonly queueMs: number;
  /** After this time the window measures the shortest round trip again: routes change. */
  readonly roundTripMsMax: number;
}

interface Mark {
  readonly number: number;
  readonly sentAtMs: number;
  /** Bytes sent in all, up to this mark. */
  readonly total: number;
  /** Bytes under way when the mark was sent. */
  readonly underWay: number;
  readonly wasFull: boolean;
}

/**
 * How many bytes may be under way on a link, so that the link is busy and yet no small message waits long behind them. The sender puts
 * marks between its bytes, and the other end sends the marks back: bytes in the buffers of kernels and modems count as under way until
 * then.
 *
 * The window is the number of bytes that the link carries in its shortest round trip and `queueMs`. It grows by half with each round trip
 * while marks return in that time, and shrinks to fit when they take longer.
 */
export class BulkWindow {
  readonly #limits: BulkWindowLimits;
  readonly #marks: Mark[] = [];
  #bytes: number;
  #total = 0;
  #marked = 0;
  #seen = 0;
  #lastMark = 0;
  #roundTripMs = Infinity;
  #roundTripAtMs = 0;
  /** The sender sends nothing until all marks are back: only an idle link shows its round trip. */
  #isDraining = false;
  #isThin = false;

  constructor(limits: BulkWindowLimits) {
    this.#limits = limits;
    this.#bytes = limits.bytesStart;
  }

  /** The part that measures the round trip is as small as possible: its own time on the link counts as part of the round trip. */
  get bytes(): number {
    return this.#isUnmeasured ? this.#limits.bytesMin : this.#bytes;
  }

  /** The round trip is unknown, and no mark under way will show it. */
  get #isUnmeasured(): boolean {
    return this.#roundTripMs === Infinity && this.#marks.length === 0;
  }

  /** Whether the link has been the bottleneck: then sending fewer bytes is worth some CPU. */
  get isThin(): boolean {
    return this.#isThin;
  }

  get underWay(): number {
    return this.#total - this.#seen;
  }

  /** Whether more may be sent now. If not, a mark is under way whose return opens the window. */
  get hasRoom(): boolean {
    if (this.#marks.length === 0) return true;
    return !this.#isDraining && this.underWay < this.bytes;
  }

  /** Counts sent bytes. Returns the number of a mark that the caller must send after them, if any. */
  sent(bytes: number, nowMs: number): number | undefined {
    this.#total += bytes;
    const isDue = this.#total - this.#marked >= this.#bytes / 4 || this.underWay >= this.#bytes;
    if (!this.#isUnmeasured && !isDue) return undefined;
    this.#marked = this.#total;
    const number = ++this.#lastMark;
    const { underWay } = this;
    const wasFull = underWay >= this.#bytes / 2;
    this.#marks.push({ number, sentAtMs: nowMs, total: this.#total, underWay, wasFull });
    return number;
  }

  /** A mark came back, and with it all earlier ones. Marks that are not under way change nothing. */
  returned(number: number, nowMs: number): void {
    const at = this.#marks.findIndex((mark) => mark.number === number);
    const mark = this.#marks[at];
    if (mark === undefined) return;
    this.#marks.splice(0, at + 1);
    const delivered = mark.total - this.#seen;
    this.#seen = mark.total;
    const tookMs = Math.max(nowMs - mark.sentAtMs, 0.1);
    this.#measure(tookMs, nowMs);
    const dueMs = this.#roundTripMs + this.#limits.queueMs;
    if (dueMs === Infinity) return;
    if (tookMs > dueMs) this.#shrink((mark.underWay * dueMs) / tookMs);
    else if (mark.wasFull) this.#grow(delivered / 2, 1.5 * mark.underWay);
  }

  #measure(tookMs: number, nowMs: number): void {
    if (tookMs <= this.#roundTripMs) {
      this.#roundTripMs = tookMs;
      this.#roundTripAtMs = nowMs;
    }
    if (this.#isDraining && this.#marks.length === 0) {
      this.#isDraining = false;
      this.#roundTripMs = Infinity; // the next mark measures it
      this.#roundTripAtMs = nowMs;
    } else if (nowMs - this.#roundTripAtMs > this.#measuredForMs) {
      this.#isDraining = this.#marks.length > 0;
      if (!this.#isDraining) this.#roundTripMs = tookMs;
      this.#roundTripAtMs = nowMs;
    }
  }

  /** The smallest window has few bytes under way: when its marks are late all the same, the route may be longer. */
  get #measuredForMs(): number {
    const { bytesMin, roundTripMsMax } = this.#limits;
    return this.#bytes > bytesMin ? roundTripMsMax : roundTripMsMax / 3;
  }

  /** Shrinks by half at most: one late mark may be an accident. */
  #shrink(bytes: number): void {
    this.#bytes = Math.max(this.#limits.bytesMin, this.#bytes / 2, Math.min(this.#bytes, bytes));
    this.#isThin = true;
  }

  /** Not beyond `bytesMax`: marks of a smaller window can be in time while those of this one are late. */
  #grow(bytes: number, bytesMax: number): void {
    const most = Math.min(this.#limits.bytesMax, bytesMax);
    this.#bytes = Math.max(this.#bytes, Math.min(most, this.#bytes + bytes));
    if (this.#bytes === this.#limits.bytesMax) this.#isThin = false;
  }
}
