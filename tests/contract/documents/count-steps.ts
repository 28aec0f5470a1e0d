import { Session } from "node:inspector/promises";

/**
 * How many steps of JavaScript each run takes in files whose address matches `within`: V8 counts how
 * often each block of code is entered. The same run takes the same steps on every machine, so that
 * growth can be judged where time cannot. The process must have been started with `FLAGS`, because
 * compiled code does not count, and the code to count must not have been loaded before.
 */
export class StepCounter {
  readonly #session = new Session();
  readonly #within: RegExp;

  constructor(within: RegExp) {
    this.#within = within;
  }

  async start(): Promise<void> {
    this.#session.connect();
    await this.#session.post("Profiler.enable");
    await this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  async count(run: () => void): Promise<number> {
    await this.#take();
    run();
    return this.#take();
  }

  /** Since the last call. */
  async #take(): Promise<number> {
    const { result } = await this.#session.post("Profiler.takePreciseCoverage");
    let steps = 0;
    for (const { url, functions } of result) {
      if (!this.#within.test(url)) continue;
      for (const { ranges } of functions) for (const { count } of ranges) steps += count;
    }
    return steps;
  }
}

export const FLAGS = ["--no-opt", "--no-maglev", "--no-sparkplug"] as const;
