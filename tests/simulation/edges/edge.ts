import type { SeededNumbers } from "../../../src/lib/seeded-numbers.ts";
import type { RunRef } from "../../../src/core/state/command.ts";

const WATTS = [0, 5, 10, 22, 37] as const;

/** A run as the edge knows it; what it used is the truth that rows are compared with. */
export interface EdgeRun {
  readonly ref: RunRef;
  readonly wattSeconds: number;
  usedWattSeconds: number;
  isStopped: boolean;
}

/** An edge of the simulation: its power, its link, and the one share it works at. */
export class SimulatedEdge {
  readonly name: string;
  watts = 10;
  isLinked = false;
  session = 0;
  bootId = 1;
  /** What it works at, or has done and not been able to report. */
  run: EdgeRun | undefined = undefined;

  constructor(name: string) {
    this.name = name;
  }

  draw(numbers: SeededNumbers): void {
    this.watts = WATTS[Math.floor(numbers.fraction() * WATTS.length)] ?? 0;
  }

  work(seconds: number): void {
    if (this.run === undefined || this.run.isStopped) return;
    const { run } = this;
    run.usedWattSeconds = Math.min(run.wattSeconds, run.usedWattSeconds + this.watts * seconds);
  }

  get isDone(): boolean {
    const { run } = this;
    return run !== undefined && (run.isStopped || run.usedWattSeconds >= run.wattSeconds);
  }
}
