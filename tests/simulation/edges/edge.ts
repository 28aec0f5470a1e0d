import type { SeededNumbers } from "../../../src/lib/seeded-numbers.ts";
import type { Power } from "../../../src/core/model/node/power.ts";
import type { RunRef } from "../../../src/core/state/command.ts";

const WATTS = [0, 5, 10, 22, 37] as const;

/** A run as the edge knows it; its real usage is the truth that rows are compared with. */
export interface EdgeRun {
  readonly ref: RunRef;
  readonly wattSeconds: number;
  usedWattSeconds: number;
  isStopped: boolean;
}

/** An edge of the simulation: its power, its link, and the one share it works on. A site works on several. */
export class SimulatedEdge {
  readonly name: string;
  readonly isSite: boolean;
  watts = 10;
  /** The number of shares that it accepts at once, as last reported. */
  sharesMax = 1;
  isLinked = false;
  session = 0;
  bootId = 1;
  /** Its active work, or finished work that it could not report. */
  runs: readonly EdgeRun[] = [];

  constructor(name: string, isSite: boolean) {
    this.name = name;
    this.isSite = isSite;
  }

  draw(numbers: SeededNumbers): void {
    this.watts = WATTS[Math.floor(numbers.fraction() * WATTS.length)] ?? 0;
    // It may accept fewer than it has.
    if (this.isSite) this.sharesMax = 1 + Math.floor(numbers.fraction() * 4);
  }

  get power(): Power {
    const { watts, sharesMax: shares } = this;
    const site = { edges: shares, shares, capacity: { cpu: 4_000 } };
    return { watts, isBare: true, ...(this.isSite && { site }) };
  }

  work(seconds: number): void {
    const working = this.runs.filter(({ isStopped }) => !isStopped);
    const each = Math.floor((this.watts * seconds) / Math.max(1, working.length));
    for (const run of working) {
      run.usedWattSeconds = Math.min(run.wattSeconds, run.usedWattSeconds + each);
    }
  }
}

export const isDone = (run: EdgeRun): boolean =>
  run.isStopped || run.usedWattSeconds >= run.wattSeconds;
