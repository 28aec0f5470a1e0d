import type { Usage } from "../../../model/job/usage.ts";
import { makeUsage } from "../../../model/job/usage.ts";

const UNKNOWN = 0xffff_ffff;
/** A flag in a time: the other bits are milliseconds. */
const IS_MS = 0x8000_0000;

/** Whether the numbers of a usage fit the columns. */
export const fitsColumns = ({ cpuUs, wallUs, maxRssKib = 0, majorFaults = 0 }: Usage): boolean =>
  (cpuUs === undefined || packTime(cpuUs) !== UNKNOWN) &&
  (wallUs === undefined || packTime(wallUs) !== UNKNOWN) &&
  maxRssKib < UNKNOWN &&
  majorFaults < UNKNOWN;

/** The usage of ended tasks, 16 bytes each. Allocated when the first task has a usage. */
export class UsageColumns {
  /** CPU time, wall time, memory and major faults of each place, one after the other. */
  readonly #numbers: Uint32Array;

  constructor(size: number) {
    this.#numbers = new Uint32Array(4 * size).fill(UNKNOWN);
  }

  put(at: number, { cpuUs, wallUs, maxRssKib, majorFaults }: Usage): void {
    this.#numbers[4 * at] = cpuUs === undefined ? UNKNOWN : packTime(cpuUs);
    this.#numbers[4 * at + 1] = wallUs === undefined ? UNKNOWN : packTime(wallUs);
    this.#numbers[4 * at + 2] = maxRssKib ?? UNKNOWN;
    this.#numbers[4 * at + 3] = majorFaults ?? UNKNOWN;
  }

  get(at: number): Usage | undefined {
    const cpu = this.#known(4 * at);
    const wall = this.#known(4 * at + 1);
    return makeUsage(
      cpu && unpackTime(cpu),
      wall && unpackTime(wall),
      this.#known(4 * at + 2),
      this.#known(4 * at + 3),
    );
  }

  remove(at: number): void {
    this.put(at, {});
  }

  #known(at: number): number | undefined {
    const value = this.#numbers[at];
    return value === UNKNOWN ? undefined : value;
  }
}

/** Microseconds below 2^31, whole milliseconds up to 24 days; UNKNOWN: it does not fit. */
function packTime(us: number): number {
  if (us < IS_MS) return us;
  const ms = us / 1_000;
  return ms < IS_MS - 1 && Number.isInteger(ms) ? IS_MS + ms : UNKNOWN;
}

const unpackTime = (packed: number): number => (packed < IS_MS ? packed : (packed - IS_MS) * 1_000);
