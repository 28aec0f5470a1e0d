import type { Site } from "./site.ts";

/** The budget of a number. A missed one is reported, never thrown: machines are noisy. */
export interface Budget {
  readonly kind: "at-least" | "at-most";
  readonly value: number;
}

export interface Measure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly must?: Budget;
  /** CPU time per task in milliseconds, by process. Comparable when wall time is not. */
  readonly cpuMsPerTask?: Readonly<Record<string, number>>;
  readonly note?: string;
}

/** The context of a case: counts scaled to its size, worlds to run in, and a log. */
export interface Bench {
  readonly isQuick: boolean;
  /** The count to use: itself, or a tenth of it in a quick run. */
  count(full: number): number;
  /** A directory and processes that are removed when the case is over. */
  openSite(): Site;
  progress(text: string): void;
  /** For the profiler: the number of tasks to divide by. Called once for each batch of work. */
  worked(tasks: number): void;
}

/** One measurement, with its own processes. */
export interface Case {
  /** Its part and its name: "b.array". */
  readonly id: string;
  readonly what: string;
  run(bench: Bench): Promise<readonly Measure[]>;
}

export const atLeast = (value: number): Budget => ({ kind: "at-least", value });
export const atMost = (value: number): Budget => ({ kind: "at-most", value });

export const isMet = ({ value, must }: Measure): boolean | undefined => {
  if (must === undefined) return undefined;
  return must.kind === "at-least" ? value >= must.value : value <= must.value;
};

/** The ratio to the budget: 1 is just met and more is better, whichever way the budget points. */
export const ratioOf = ({ value, must }: Measure): number | undefined => {
  if (must === undefined) return undefined;
  return must.kind === "at-least" ? value / must.value : must.value / value;
};
