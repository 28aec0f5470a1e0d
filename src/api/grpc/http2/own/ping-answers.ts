import { limits } from "../../../../limits.ts";

/**
 * Answers to the pings of a client: the first one at once, later ones together, `http2PingAnswersMs` after the answers before them. Clients in Go and C++
 * measure a busy connection: they send a ping after each answer that they read, and the next one when that ping is answered. Answering each at once would cost a
 * read, a write and a turn of the event loop at both ends for every answer to a call.
 */
export class PingAnswers {
  readonly #send: (payload: Buffer) => void;
  readonly #nowMs: () => number;
  #held: Buffer[] = [];
  #answeredMs = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(send: (payload: Buffer) => void, nowMs: () => number = () => performance.now()) {
    this.#send = send;
    this.#nowMs = nowMs;
  }

  answer(payload: Buffer): void {
    if (this.#timer === undefined) {
      const earlyMs = this.#answeredMs + limits.http2PingAnswersMs - this.#nowMs();
      if (earlyMs <= 0) return this.#sendAll([payload]);
      this.#timer = setTimeout(() => this.#release(), earlyMs).unref();
    }
    this.#held.push(Buffer.from(payload)); // the payload is a part of a large buffer
    if (this.#held.length >= limits.http2PingsHeldMax) this.#release();
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#held = [];
  }

  #release(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const held = this.#held;
    this.#held = [];
    this.#sendAll(held);
  }

  #sendAll(payloads: readonly Buffer[]): void {
    this.#answeredMs = this.#nowMs();
    for (const payload of payloads) this.#send(payload);
  }
}
