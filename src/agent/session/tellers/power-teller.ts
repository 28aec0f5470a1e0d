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
  #told: Power | undefined;
  #toldAtMs: number;
  #isWanted = false;
  #cancel: (() => void) | undefined;

  constructor(options: PowerTellerOptions) {
    this.#options = options;
    this.#toldAtMs = steadyMs(options.clock);
  }

  /** What Hello says. */
  greeting(): Power | undefined {
    this.#told = this.#options.power?.();
    return this.#told;
  }

  /** Older servers do not want to know. */
  welcomed(isWanted: boolean): void {
    this.#isWanted = isWanted;
    this.changed();
  }

  changed(): void {
    const { clock, power } = this.#options;
    if (!this.#isWanted || power === undefined || isDeepEqual(power(), this.#told)) return;
    const dueMs = this.#toldAtMs + limits.powerTellMs - steadyMs(clock);
    this.#cancel ??= clock.after(Math.max(0, dueMs), () => {
      this.#cancel = undefined;
      this.#told = power();
      this.#toldAtMs = steadyMs(clock);
      this.#options.send(this.#told);
    });
  }

  close(): void {
    this.#cancel?.();
    this.#isWanted = false;
  }
}
