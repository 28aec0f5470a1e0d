import { AppError, describeChain } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Logger } from "../../../ports/logger.ts";
import { Alarm } from "../../alarm.ts";
import { Outage } from "../../lower/retry-delays.ts";
import type { KeptSpecs } from "./kept-specs.ts";
import { ORIGIN_TASK, readLowerSpec } from "./lower-spec.ts";
import { isPassing, type SiteApi } from "./site-api.ts";
import type { SiteRun } from "./site-run.ts";

export interface SiteSubmissionsOptions {
  readonly api: Pick<SiteApi, "submitJobs" | "listJobs">;
  readonly group: string;
  readonly specs: KeptSpecs;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** The job below; `isNew`: this call created it. */
  onSubmitted(taken: readonly (readonly [run: SiteRun, jobId: string])[], isNew: boolean): void;
  onRefused(run: SiteRun, message: string): void;
  /** The run was stopped before any job of it was below. */
  onStopped(run: SiteRun): void;
}

/**
 * Submits runs as jobs below, many in one call and one call at a time. It repeats a failed call later with
 * the same keys: no run becomes two jobs.
 */
export class SiteSubmissions {
  readonly #options: SiteSubmissionsOptions;
  readonly #outage: Outage;
  readonly #alarm: Alarm;
  #waiting: SiteRun[] = [];
  #isBusy = false;

  constructor(options: SiteSubmissionsOptions) {
    this.#options = options;
    this.#outage = new Outage("the Busbar below accepts no jobs", options.logger);
    this.#alarm = new Alarm(options.clock, () => void this.#work());
  }

  /** Whether a call is on its way. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  add(run: SiteRun): void {
    this.#waiting.push(run);
    this.#schedule();
  }

  /** A run that is not submitted yet was stopped: it need not wait for its turn. */
  wake(): void {
    this.#schedule();
  }

  close(): void {
    this.#waiting = [];
    this.#alarm.stop();
  }

  #schedule(): void {
    if (this.#waiting.length === 0 || this.#isBusy) return;
    this.#alarm.wakeBy(Math.max(this.#options.clock.nowMs(), this.#outage.retryAtMs));
  }

  async #work(): Promise<void> {
    const { clock, signal } = this.#options;
    if (this.#isBusy) return;
    this.#isBusy = true;
    try {
      while (this.#waiting.length > 0 && !signal.aborted && this.#outage.isOver(clock.nowMs())) {
        const batch = this.#take();
        try {
          await this.#submit(batch);
          this.#outage.succeeded();
        } catch (error) {
          if (signal.aborted) return;
          this.#outage.failed(error, clock.nowMs());
          for (const run of batch) run.reason = `not submitted yet: ${describeChain(error)}`;
          const left = batch.filter((run) => run.at !== "below" && run.ended === undefined);
          this.#waiting = [...left, ...this.#waiting];
        }
      }
    } finally {
      this.#isBusy = false;
      this.#schedule();
    }
  }

  /** The oldest runs, as many as fit into one call. */
  #take(): SiteRun[] {
    let bytes = 0;
    let count = 0;
    for (const { terms } of this.#waiting) {
      const { spec } = terms;
      bytes +=
        spec !== undefined && "text" in spec ? spec.text.length : limits.siteCallBytesMax / 2;
      if (count > 0 && bytes > limits.siteCallBytesMax) break;
      if (++count >= limits.siteJobsPerCallMax) break;
    }
    const batch = this.#waiting.slice(0, count);
    this.#waiting = this.#waiting.slice(count);
    return batch;
  }

  async #submit(batch: readonly SiteRun[]): Promise<void> {
    const wanted: SiteRun[] = [];
    for (const run of batch) {
      if (run.stop === undefined) wanted.push(run);
      else if (run.at === "waiting") this.#options.onStopped(run);
      else await this.#findStopped(run);
    }
    if (wanted.length > 0) await this.#submitAll(wanted);
  }

  /** The site accepts all or none: when it rejects a call, the executor submits each half separately. */
  async #submitAll(runs: readonly SiteRun[]): Promise<void> {
    const { api, specs, signal } = this.#options;
    try {
      const jobs = runs.map(({ terms: { spec, submitKey: idempotencyKey } }) => {
        if (spec === undefined)
          throw new AppError("invalid_argument", "the agent no longer has its spec");
        return { spec: readLowerSpec(specs.read(spec)), idempotencyKey };
      });
      for (const run of runs) run.at = "doubtful";
      const answer = await api.submitJobs({ jobs, allowUnsatisfiable: true }, { signal });
      for (const isNew of [true, false]) {
        const some = runs.flatMap((run, at) => {
          const job = answer.jobs[at];
          return job === undefined || job.existed === isNew ? [] : [[run, job.id] as const];
        });
        if (some.length > 0) this.#options.onSubmitted(some, isNew);
      }
    } catch (error) {
      if (isPassing(error)) throw error;
      const [first] = runs;
      if (runs.length === 1 && first !== undefined) {
        this.#options.onRefused(first, describeChain(error));
        return;
      }
      const half = Math.ceil(runs.length / 2);
      await this.#submitAll(runs.slice(0, half));
      await this.#submitAll(runs.slice(half));
    }
  }

  /** Looks up whether a stopped run has a job below, without submitting one. */
  async #findStopped(run: SiteRun): Promise<void> {
    const { api, group, signal, specs } = this.#options;
    const { spec, submitKey } = run.terms;
    const labels = spec === undefined ? {} : readLowerSpec(specs.read(spec)).labels;
    const task = labels[ORIGIN_TASK] ?? "";
    const filter = { group, labels: { [ORIGIN_TASK]: task } };
    let pageToken: string | undefined;
    do {
      const page = await api.listJobs(
        { filter, ...(pageToken === undefined ? {} : { pageToken }) },
        { signal },
      );
      const found = page.jobs.find(({ idempotencyKey }) => idempotencyKey === submitKey);
      if (found !== undefined) return this.#options.onSubmitted([[run, found.id]], false);
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
    this.#options.onStopped(run);
  }
}
