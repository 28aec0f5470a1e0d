import { invariant } from "../../../lib/invariant.ts";
import { limits } from "../../../limits.ts";

export interface InputPart {
  readonly offset: number;
  readonly data: Uint8Array;
  readonly end: boolean;
}

/**
 * Input on its way to a task: it stays buffered until the task has it, so that it can be sent again on another connection. Offsets count
 * from the first byte.
 *
 *   from ----- kept, sent ----- next ----- kept, not sent ----- to
 */
export class InputWindow {
  #kept: Uint8Array[] = [];
  #from = 0;
  #next = 0;
  #to = 0;
  #isEnded = false;
  #isEndSent = false;

  /** Whether more may be read. */
  get hasRoom(): boolean {
    return !this.#isEnded && this.#to - this.#from < limits.attachWindowBytes;
  }

  push(data: Uint8Array): void {
    invariant(!this.#isEnded, "nothing follows the end");
    if (data.length === 0) return;
    this.#kept.push(data);
    this.#to += data.length;
  }

  end(): void {
    this.#isEnded = true;
  }

  /** The task has the input up to here. */
  seen(offset: number): void {
    const until = Math.min(offset, this.#to);
    while (this.#from < until) {
      const first = this.#kept[0];
      invariant(first !== undefined, "what was not seen is kept");
      const seen = Math.min(first.length, until - this.#from);
      if (seen === first.length) this.#kept.shift();
      else this.#kept[0] = first.subarray(seen);
      this.#from += seen;
    }
    this.#next = Math.max(this.#next, this.#from);
  }

  /** On a new connection, whose task has the input up to here. False: the missing input is no longer buffered. */
  resume(offset: number): boolean {
    if (offset < this.#from || offset > this.#to) return false;
    this.#next = offset;
    this.#isEndSent = false;
    return true;
  }

  /** The next part to send; undefined: none, or the task has too much unread input. */
  take(): InputPart | undefined {
    const until = Math.min(this.#to, this.#from + limits.attachWindowBytes);
    const offset = this.#next;
    const data = this.#pieceAt(offset, Math.min(until - offset, limits.attachPartBytes));
    this.#next += data.length;
    const end = this.#isEnded && this.#next === this.#to;
    if (data.length === 0 && (!end || this.#isEndSent)) return undefined;
    this.#isEndSent = end;
    return { offset, data, end };
  }

  /** In one piece, up to so many bytes. */
  #pieceAt(offset: number, bytesMax: number): Uint8Array {
    let at = this.#from;
    for (const chunk of this.#kept) {
      if (offset < at + chunk.length) {
        const start = offset - at;
        return chunk.subarray(start, start + Math.max(0, bytesMax));
      }
      at += chunk.length;
    }
    return NOTHING;
  }
}

const NOTHING = new Uint8Array(0);
