import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import { steadyMs } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { ServerTime } from "./server-time.ts";

/**
 * Compares the agent's clock with the server's during one session, by Welcome and the answers to heartbeats, and reports a difference: in
 * the log, and to a server that asks for it.
 */
export class SessionClocks {
  readonly #serverTime: ServerTime;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** Reports to the server how far this clock is ahead; 0: it is right again. */
  readonly #tell: (aheadMs: number) => void;
  readonly #helloMs: number;
  /** Heartbeats without an answer; the server answers each, in order. */
  #beatsMs: number[] = [];
  #wantsClock = false;
  #reportedMs = 0;

  constructor(options: {
    readonly serverTime: ServerTime;
    readonly clock: Clock;
    readonly logger: Logger;
    readonly tell: (aheadMs: number) => void;
  }) {
    this.#serverTime = options.serverTime;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#tell = options.tell;
    this.#helloMs = steadyMs(options.clock);
  }

  /** `serverTimeMs` 0: the server does not send it. */
  welcomed(serverTimeMs: number, wantsClock: boolean): void {
    this.#wantsClock = wantsClock;
    this.#compare(this.#helloMs, serverTimeMs);
  }

  heartbeatSent(): void {
    this.#beatsMs.push(steadyMs(this.#clock));
    // For a server that answers none.
    if (this.#beatsMs.length > limits.heartbeatsUnansweredMax) this.#beatsMs.shift();
  }

  heartbeatAnswered(serverTimeMs: number): void {
    const sentMs = this.#beatsMs.shift();
    if (sentMs !== undefined) this.#compare(sentMs, serverTimeMs);
  }

  #compare(sentMs: number, serverTimeMs: number): void {
    if (!(serverTimeMs > 0)) return;
    this.#serverTime.answered(sentMs, serverTimeMs);
    const aheadMs = this.#serverTime.wrongByMs ?? 0;
    const isNews = aheadMs === 0 ? this.#reportedMs !== 0 : this.#hasMoved(aheadMs);
    if (!isNews) return;
    this.#reportedMs = aheadMs;
    if (aheadMs === 0) this.#logger.info({}, "this machine's clock agrees with the server's again");
    else {
      const text =
        `this machine's clock is ${aheadMs > 0 ? "ahead of" : "behind"} the server's; ` +
        "reported times are corrected; synchronise the clock (e.g. with chrony)";
      this.#logger.warn({ clockOffsetMs: aheadMs }, text);
    }
    if (this.#wantsClock) this.#tell(aheadMs);
  }

  #hasMoved(aheadMs: number): boolean {
    return Math.abs(aheadMs - this.#reportedMs) > limits.clockOffsetMsMax;
  }
}
