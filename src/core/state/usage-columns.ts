import type { Usage } from "../model/usage.ts";
import { makeUsage } from "../model/usage.ts";

const UNKNOWN = 0xffff_ffff;

/** Whether the numbers of a usage have a place in the columns. */
export const fitsColumns = ({ maxRssKib = 0, majorFaults = 0 }: Usage): boolean =>
  maxRssKib < UNKNOWN && majorFaults < UNKNOWN;

/** What ended tasks used, 24 bytes each. They are made when the first task has a usage. */
export class UsageColumns {
  /** CPU and wall time of the task at a place, in turn; NaN: not known. */
  readonly #times: Float64Array;
  /** Memory and major faults, in turn. */
  readonly #counts: Uint32Array;

  constructor(size: number) {
    this.#times = new Float64Array(2 * size).fill(Number.NaN);
    this.#counts = new Uint32Array(2 * size).fill(UNKNOWN);
  }

  put(at: number, { cpuUs, wallUs, maxRssKib, majorFaults }: Usage): void {
    this.#times[2 * at] = cpuUs ?? Number.NaN;
    this.#times[2 * at + 1] = wallUs ?? Number.NaN;
    this.#counts[2 * at] = maxRssKib ?? UNKNOWN;
    this.#counts[2 * at + 1] = majorFaults ?? UNKNOWN;
  }

  get(at: number): Usage | undefined {
    return makeUsage(
      known(this.#times[2 * at]),
      known(this.#times[2 * at + 1]),
      known(this.#counts[2 * at]),
      known(this.#counts[2 * at + 1]),
    );
  }

  remove(at: number): void {
    this.put(at, {});
  }
}

const known = (value: number | undefined): number | undefined =>
  value === undefined || Number.isNaN(value) || value === UNKNOWN ? undefined : value;
