import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";

/** When an order to destroy an instance is repeated, and how often. */
export interface DestroyTimes {
  readonly retryMs: number;
  readonly triesMax: number;
}

export interface DestroyOrdersOptions<Run> {
  readonly clock: Clock;
  readonly times: DestroyTimes;
  readonly send: (run: Run) => void;
  /** The worker was asked often enough, and has not answered. */
  readonly giveUp: (run: Run) => void;
}

interface Sent {
  tries: number;
  /** Whether others wait for its answer. */
  isAwaited: boolean;
  /** The number of the worker's answers when it was last sent. */
  answers: number;
  cancelTimer: () => void;
}

/**
 * Orders to destroy instances, to one worker. It executes its orders one by one: few are under way and the rest wait here, so that the time
 * until an order is repeated measures the worker's silence, and not the length of its queue. They do not wait for a worker that answers nothing.
 */
export class DestroyOrders<Run extends object> {
  readonly #options: DestroyOrdersOptions<Run>;
  readonly #waiting = new Set<Run>();
  readonly #sent = new Map<Run, Sent>();
  #awaited = 0;
  #answers = 0;
  #isSilent = false;

  constructor(options: DestroyOrdersOptions<Run>) {
    this.#options = options;
  }

  add(run: Run): void {
    this.#waiting.add(run);
    this.#sendWaiting();
  }

  /** The instance is gone. */
  delete(run: Run): void {
    this.#waiting.delete(run);
    const sent = this.#sent.get(run);
    if (sent === undefined) return;
    sent.cancelTimer();
    this.#sent.delete(run);
    this.#awaitNoLonger(sent);
    this.#sendWaiting();
  }

  /** The worker has answered an order of any kind. */
  answered(): void {
    this.#answers += 1;
    this.#isSilent = false;
  }

  close(): void {
    this.#waiting.clear();
    for (const { cancelTimer } of this.#sent.values()) cancelTimer();
  }

  #sendWaiting(): void {
    for (const run of this.#waiting) {
      if (this.#awaited >= limits.rikDestroysUnderWayMax && !this.#isSilent) return;
      this.#waiting.delete(run);
      this.#awaited += 1;
      const sent: Sent = { tries: 0, isAwaited: true, answers: 0, cancelTimer: () => undefined };
      this.#sent.set(run, sent);
      this.#send(run, sent);
    }
  }

  #send(run: Run, sent: Sent): void {
    const { clock, times, send, giveUp } = this.#options;
    sent.tries += 1;
    sent.answers = this.#answers;
    send(run);
    sent.cancelTimer = clock.after(times.retryMs * 2 ** (sent.tries - 1), () => {
      this.#isSilent = sent.answers === this.#answers;
      this.#awaitNoLonger(sent);
      if (sent.tries < times.triesMax) this.#send(run, sent);
      else giveUp(run);
      this.#sendWaiting();
    });
  }

  #awaitNoLonger(sent: Sent): void {
    if (sent.isAwaited) this.#awaited -= 1;
    sent.isAwaited = false;
  }
}
