import type { Power } from "../../../core/model/node/power.ts";
import { isDeepEqual } from "../../../lib/is-deep-equal.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import { steadyMs } from "../../../ports/clock.ts";

export interface PowerTellerOptions {
  readonly clock: Clock;
  /** The node's power now; undefined: it accepts no shares. */
  readonly power: (() => Power) | undefined;
  send(power: Power): void;
}

/** Sends the server a node's power for shares when it changes, at most once a second. */
export class PowerTeller {
  readonly #options: PowerTellerOptions;
  #sent: Power | undefined;
  #sentAtMs: number;
  #isWanted = false;
  #cancel: (() => void) | undefined;

  constructor(options: PowerTellerOptions) {
    this.#options = options;
    this.#sentAtMs = steadyMs(options.clock);
  }

  /** The power in Hello. */
  greeting(): Power | undefined {
    this.#sent = this.#options.power?.();
    return this.#sent;
  }

  /** Older servers do not ask for it. */
  welcomed(isWanted: boolean): void {
    this.#isWanted = isWanted;
    this.changed();
  }

  changed(): void {
    const { clock, power } = this.#options;
    if (!this.#isWanted || power === undefined || isDeepEqual(power(), this.#sent)) return;
    const dueMs = this.#sentAtMs + limits.powerTellMs - steadyMs(clock);
    this.#cancel ??= clock.after(Math.max(0, dueMs), () => {
      this.#cancel = undefined;
      this.#sent = power();
      this.#sentAtMs = steadyMs(clock);
      this.#options.send(this.#sent);
    });
  }

  close(): void {
    this.#cancel?.();
    this.#isWanted = false;
  }
}
