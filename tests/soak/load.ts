import type { BusbarClient } from "../../src/client/client.ts";
import { isEnded } from "../../src/client/state.ts";

const COMMANDS: readonly (readonly string[])[] = [
  ["true"],
  ["true"],
  ["sh", "-c", "echo one; sleep 0.2; echo two"],
  ["sh", "-c", "exit 3"],
  ["sh", "-c", "head -c 100000 /dev/zero | tr '\\0' x"],
];

export interface LoadOptions {
  readonly client: BusbarClient;
  readonly signal: AbortSignal;
  readonly pauseMs: number;
}

/** Submits continuously: single jobs and arrays, some with retries, some cancelled. */
export class Load {
  readonly #options: LoadOptions;
  readonly #submittedAtMs = new Map<string, number>();
  /** From the call that submitted a job to its end; the reader of the numbers removes them. */
  #latenciesMs: number[] = [];
  /** Ids of recent jobs, for other parts. */
  readonly recent: string[] = [];

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  takeLatencies(): number[] {
    const taken = this.#latenciesMs;
    this.#latenciesMs = [];
    return taken;
  }

  async run(): Promise<void> {
    await Promise.all([this.#submitOn(), this.#listen()]);
  }

  async #submitOn(): Promise<void> {
    const { client, signal, pauseMs } = this.#options;
    for (let count = 0; !signal.aborted; count++) {
      const atMs = performance.now();
      const command = COMMANDS[count % COMMANDS.length] ?? ["true"];
      const spec = {
        command: [...command],
        array: count % 5 === 0 ? "0-9" : "",
        retries: { max: count % 3 === 0 ? 1 : 0, backoffMs: 100n },
        resources: { cpu: 0.25 },
      };
      const { jobs } = await client.submitJobs({ jobs: [{ spec }] });
      for (const { id } of jobs) {
        this.#submittedAtMs.set(id, atMs);
        this.recent.push(id);
        if (this.recent.length > 200) this.recent.shift();
        if (count % 17 === 0) await client.cancelJob({ id, reason: "soak" });
      }
      await pause(pauseMs, signal);
    }
  }

  async #listen(): Promise<void> {
    const { client, signal } = this.#options;
    for await (const { event } of client.watch({ jobs: true }, { signal })) {
      if (event.case !== "job" || !isEnded(event.value.state)) continue;
      const atMs = this.#submittedAtMs.get(event.value.id);
      this.#submittedAtMs.delete(event.value.id);
      if (atMs !== undefined) this.#latenciesMs.push(performance.now() - atMs);
    }
  }
}

/** Returns early when the signal fires. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const wake = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", wake);
      resolve();
    };
    const timer = setTimeout(wake, ms);
    signal.addEventListener("abort", wake, { once: true });
    if (signal.aborted) wake();
  });
