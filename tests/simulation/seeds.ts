import { Worker } from "node:worker_threads";
import type { Outcome } from "./simulation.ts";
import type { Fault, WorkerTask } from "./worker.ts";

export interface Seeds {
  /** In the order of simulation. */
  readonly seeds: readonly number[];
  /** Threads; each takes every n-th seed. */
  readonly workers: number;
  /** Each thread ends with its first seed that catches this fault. */
  readonly fault?: Fault;
}

export const seedsFrom = (from: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_none, at) => from + at);

/** Simulates many seeds in threads; calls `onOutcome` with each outcome as the seed ends. */
export async function simulateSeeds(
  { seeds, workers, fault }: Seeds,
  onOutcome: (outcome: Outcome) => void,
): Promise<void> {
  const threads = Array.from({ length: Math.min(workers, seeds.length) }, (_none, thread) => {
    const own = seeds.filter((_seed, at) => at % workers === thread);
    return runThread({ seeds: own, fault }, onOutcome);
  });
  await Promise.all(threads);
}

function runThread(task: WorkerTask, onOutcome: (outcome: Outcome) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    // Without the parent's options: a test runner's loader must not change the simulation.
    const worker = new Worker(new URL("worker.ts", import.meta.url), {
      workerData: task,
      execArgv: [],
    });
    worker.on("message", onOutcome);
    worker.on("error", reject);
    worker.on("exit", (code) => {
      if (code === 0) resolve();
      else reject(new Error(`a simulation ended with code ${code}: a promise nobody resolves?`));
    });
  });
}
