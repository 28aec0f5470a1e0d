import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";

interface Waiting {
  go(): void;
  drop(error: AppError): void;
}

/**
 * Bounds slow checks of secrets, so that a caller who guesses secrets cannot occupy all CPUs or grow memory. The newest check is next, and
 * the oldest is dropped when too many wait: behind a thousand guesses, whose callers have mostly left, a right secret would wait for half a
 * minute.
 */
export class CheckTurns {
  #busy = 0;
  /** By the names of checks, oldest first. */
  readonly #waiting = new Map<string, Waiting>();

  /** `name`: no other check that waits has it. */
  async run<T>(name: string, compute: () => Promise<T>): Promise<T> {
    if (this.#busy < limits.secretChecksMax) this.#busy++;
    else await this.#turn(name);
    try {
      return await compute();
    } finally {
      const newest = [...this.#waiting.keys()].at(-1);
      if (newest === undefined) this.#busy--;
      else this.#take(newest)?.go(); // it runs in our place
    }
  }

  /** Another caller needs this check: it is the newest again, if it waits. */
  renew(name: string): void {
    const waiting = this.#take(name);
    if (waiting !== undefined) this.#waiting.set(name, waiting);
  }

  #turn(name: string): Promise<void> {
    const [oldest] = this.#waiting.keys();
    if (oldest !== undefined && this.#waiting.size >= limits.secretChecksWaitingMax) {
      const text = "too many secrets are being checked; try again later";
      this.#take(oldest)?.drop(new AppError("exhausted", text));
    }
    return new Promise((go, drop) => this.#waiting.set(name, { go, drop }));
  }

  #take(name: string): Waiting | undefined {
    const waiting = this.#waiting.get(name);
    this.#waiting.delete(name);
    return waiting;
  }
}
