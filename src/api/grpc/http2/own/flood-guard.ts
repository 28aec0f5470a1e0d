import { HTTP2 } from "../../../../lib/http2/error-codes.ts";
import { limits } from "../../../../limits.ts";
import { Http2Error } from "./http2-error.ts";

/** So many at once, and so many more each second. Reads the clock only when it seems full. */
class Allowance {
  readonly #max: number;
  readonly #perMs: number;
  readonly #nowMs: () => number;
  #used = 0;
  #sinceMs: number;

  constructor(max: number, perSecond: number, nowMs: () => number) {
    this.#max = max;
    this.#perMs = perSecond / 1_000;
    this.#nowMs = nowMs;
    this.#sinceMs = nowMs();
  }

  /** Whether it fits. */
  use(amount: number): boolean {
    this.#used += amount;
    if (this.#used <= this.#max) return true;
    const nowMs = this.#nowMs();
    this.giveBack((nowMs - this.#sinceMs) * this.#perMs);
    this.#sinceMs = nowMs;
    return this.#used <= this.#max;
  }

  giveBack(amount: number): void {
    this.#used = Math.max(0, this.#used - amount);
  }
}

/**
 * Counts what a client makes the server do beside calls that end well: a frame costs the client a few bytes, and the server an answer or a call.
 * Calls that end well allow more of both. Throws Http2Error.
 */
export class FloodGuard {
  readonly #control: Allowance;
  readonly #resets: Allowance;

  constructor(nowMs: () => number = () => performance.now()) {
    const { http2ControlFramesMax, http2ControlFramesPerSecond } = limits;
    this.#control = new Allowance(http2ControlFramesMax, http2ControlFramesPerSecond, nowMs);
    this.#resets = new Allowance(limits.http2ResetsMax, limits.http2ResetsPerSecond, nowMs);
  }

  /** A frame that carries nothing of a call. */
  control(amount = 1): void {
    if (!this.#control.use(amount)) {
      throw new Http2Error(HTTP2.ENHANCE_YOUR_CALM, "too many frames that carry no call");
    }
  }

  /** The client reset a call, or made the server reset it. */
  reset(): void {
    if (!this.#resets.use(1)) {
      throw new Http2Error(HTTP2.ENHANCE_YOUR_CALM, "too many calls were reset");
    }
  }

  /** A frame with bytes of a call, either way: its reader answers with a window update or a ping. */
  carried(): void {
    this.#control.giveBack(limits.http2ControlFramesPerData);
  }

  ended(): void {
    this.#control.giveBack(limits.http2ControlFramesPerCall);
    this.#resets.giveBack(1);
  }
}
