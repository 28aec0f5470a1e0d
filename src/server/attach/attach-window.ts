import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { StreamPart } from "../../ports/attached-run.ts";

/**
 * Enforces the window of a client's input. Server and agent pass input on without asking the run, so the client
 * itself must not have more under way than the window.
 */
export class AttachWindow {
  #next: number;
  #seen: number;
  #isEnded = false;

  /** The run has the input up to offset `from`. */
  constructor(from: number) {
    this.#next = from;
    this.#seen = from;
  }

  /** Throws `invalid_argument` for a part that leaves a gap or exceeds the window. */
  take({ offset, data, end }: StreamPart): void {
    if (this.#isEnded) throw invalid("part", "came after the end");
    if (offset !== this.#next) {
      throw invalid(
        "part.offset",
        `must be ${this.#next}, where the previous part ended, not ${offset}`,
      );
    }
    if (data.length > limits.attachPartBytesMax) {
      throw invalid("part.data", `at most ${limits.attachPartBytesMax} bytes in one message`);
    }
    if (this.#next + data.length > this.#seen + limits.attachWindowBytes) {
      throw invalid(
        "part.data",
        `more than ${limits.attachWindowBytes} bytes are unacknowledged: wait for seen`,
      );
    }
    this.#next += data.length;
    this.#isEnded = end;
  }

  /** The run has the input up to this offset. */
  seen(offset: number): void {
    this.#seen = Math.max(this.#seen, Math.min(offset, this.#next));
  }
}
