import { limits } from "../../../limits.ts";

interface AnswerBytesLimits {
  readonly totalMax: number;
  readonly perConnectionMax: number;
}

/**
 * The bytes that peers have not read, of all doors. Peers that read do so within moments, so when the memory is full, the stream that has
 * been unread for longest is cut off.
 */
export class AnswerBytes {
  readonly #limits: AnswerBytesLimits;
  /** Streams with unread bytes: the one without progress for longest first. */
  readonly #unread = new Set<AnswerHold>();
  #bytes = 0;
  /** Total of released bytes. The bytes are array buffers: only a collection frees them. */
  #released = 0;
  #dropped = 0;

  constructor({
    totalMax = limits.answerBytesTotalMax,
    perConnectionMax = limits.answerBytesPerConnectionMax,
  }: Partial<AnswerBytesLimits> = {}) {
    this.#limits = { totalMax, perConnectionMax };
  }

  get counts() {
    return {
      bytes: this.#bytes,
      released: this.#released,
      unread: this.#unread.size,
      dropped: this.#dropped,
    };
  }

  /** `drop` cuts the stream off. */
  open(connection: { bytes: number }, drop: () => void): AnswerHold {
    return new AnswerHold(this, connection, drop);
  }

  /** Used by holds. */
  change(hold: AnswerHold, bytes: number): void {
    this.#bytes += bytes;
    hold.connection.bytes += bytes;
    this.#unread.delete(hold);
    if (hold.bytes > 0) this.#unread.add(hold);
    if (bytes > 0) this.#makeRoom(hold);
    else this.#released -= bytes;
  }

  #makeRoom(newest: AnswerHold): void {
    const { totalMax, perConnectionMax } = this.#limits;
    const { connection } = newest;
    const isFull = (): boolean => this.#bytes > totalMax || connection.bytes > perConnectionMax;
    if (!isFull()) return;
    for (const hold of this.#unread) {
      if (this.#bytes <= totalMax && hold.connection !== connection) continue;
      this.#dropped++;
      hold.end();
      hold.drop();
      if (!isFull()) return;
    }
  }
}

/** The unread bytes of one stream. Ensures that all of them are released, once. */
export class AnswerHold {
  readonly connection: { bytes: number };
  readonly drop: () => void;
  readonly #all: AnswerBytes;
  bytes = 0;
  #isEnded = false;

  constructor(all: AnswerBytes, connection: { bytes: number }, drop: () => void) {
    this.#all = all;
    this.connection = connection;
    this.drop = drop;
  }

  add(bytes: number): void {
    if (this.#isEnded) return;
    this.bytes += bytes;
    this.#all.change(this, bytes);
  }

  sent(bytes: number): void {
    if (this.#isEnded) return;
    this.bytes -= bytes;
    this.#all.change(this, -bytes);
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    const { bytes } = this;
    this.bytes = 0;
    this.#all.change(this, -bytes);
  }
}
