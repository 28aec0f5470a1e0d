import type { Site } from "./site.ts";

/** What a number must reach. Missing it is told, never thrown: machines are noisy. */
export interface Budget {
  readonly kind: "at-least" | "at-most";
  readonly value: number;
}

export interface Measure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly must?: Budget;
  /** CPU time per task in milliseconds, by process. Comparable when the clock on the wall is not. */
  readonly cpuMsPerTask?: Readonly<Record<string, number>>;
  readonly note?: string;
}

/** What a case is given: counts to its size, places to run in, and someone to tell. */
export interface Bench {
  readonly isQuick: boolean;
  /** The count to use: itself, or a tenth of it in a quick run. */
  count(full: number): number;
  /** A directory and processes that are gone when the case is over. */
  openSite(): Site;
  progress(text: string): void;
  /** For the profiler: by how many tasks to divide. Called once for each lot of work. */
  worked(tasks: number): void;
}

/** One thing that is measured, with processes of its own. */
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

/** How far it is: 1 is just met and more is better, whichever way the budget points. */
export const ratioOf = ({ value, must }: Measure): number | undefined => {
  if (must === undefined) return undefined;
  return must.kind === "at-least" ? value / must.value : must.value / value;
};
