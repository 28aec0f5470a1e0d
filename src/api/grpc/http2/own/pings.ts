import { limits } from "../../../../limits.ts";

type Answered = (isThere: boolean) => void;

const PAYLOAD_BYTES = 8;

/** Pings of this server that the peer has not answered. */
export class Pings {
  readonly #waiting = new Map<string, Answered>();
  #sent = 0;

  /** The payload of a new ping; undefined: too many are unanswered. */
  open(answered: Answered): Buffer | undefined {
    if (this.#waiting.size >= limits.http2PingsMax) return undefined;
    const payload = Buffer.alloc(PAYLOAD_BYTES);
    payload.writeUInt32BE(++this.#sent, PAYLOAD_BYTES - 4);
    this.#waiting.set(payload.toString("latin1"), answered);
    return payload;
  }

  /** Unknown answers are ignored. */
  answer(payload: Buffer): void {
    const key = payload.toString("latin1");
    const answered = this.#waiting.get(key);
    this.#waiting.delete(key);
    answered?.(true);
  }

  close(): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const answered of waiting) answered(false);
  }
}
