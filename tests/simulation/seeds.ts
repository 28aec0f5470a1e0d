import { Worker } from "node:worker_threads";
import type { Outcome } from "./simulation.ts";
import type { WorkerTask } from "./worker.ts";

export interface SeedRange {
  readonly from: number;
  readonly count: number;
  /** Threads; each takes every n-th seed. */
  readonly workers: number;
  readonly mutant?: string;
}

/** Simulates many seeds in threads; `onOutcome` hears of each as it ends. */
export async function simulateSeeds(
  { from, count, workers, mutant }: SeedRange,
  onOutcome: (outcome: Outcome) => void,
): Promise<void> {
  const threads = Array.from({ length: Math.min(workers, count) }, (_none, at) => {
    const task: WorkerTask = {
      from: from + at,
      count: Math.ceil((count - at) / workers),
      step: workers,
      mutant,
    };
    return runThread(task, onOutcome);
  });
  await Promise.all(threads);
}

function runThread(task: WorkerTask, onOutcome: (outcome: Outcome) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    // Nothing of the parent's options: a test runner's loader must not change what is simulated.
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
