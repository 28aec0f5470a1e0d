import type { AheadRuns, Executor, RunId, RunRequest } from "../../ports/executor.ts";
import type { Clock } from "../../ports/clock.ts";
import { steadyMs } from "../../ports/clock.ts";
import type { Reported } from "./outbox.ts";
import type { RunProgress } from "./tellers/progress-teller.ts";
import { runKey } from "../runs/run-key.ts";
import { toSteadyTimes } from "../run-times.ts";

/** The runs that an agent knows, with their latest reports, across sessions. Times are by its steady clock. */
export class KnownRuns {
  readonly #executor: Executor;
  readonly #onChange: (key: string, reported: Reported) => void;
  readonly #runs = new Map<string, Reported>();
  /** Passed to the executor and not reported yet: the executor may have its own queue. */
  readonly #waiting = new Map<string, RunId>();
  readonly #countByJob = new Map<number, number>();
  /** When the executor received each run that has not ended. */
  readonly #receivedMs = new Map<string, number>();
  readonly #clock: Clock;
  /** Progress of active runs. */
  readonly #progress = new Map<string, RunProgress>();

  /** `onChange` receives each report after it was noted. */
  constructor(
    executor: Executor,
    clock: Clock,
    onChange: (key: string, reported: Reported) => void,
    onProgress: (key: string, run: RunProgress) => void = () => undefined,
  ) {
    this.#executor = executor;
    this.#clock = clock;
    this.#onChange = onChange;
    for (const run of executor.known()) this.#note(this.#timed(run));
    for (const id of executor.queued()) this.#wait(id);
    executor.onReport((id, report) => this.#tell(this.#timed({ id, report })));
    executor.onProgress?.((id, progress) => {
      const key = runKey(id);
      if (!this.#goesOn(key)) return;
      this.#progress.set(key, { id, progress });
      onProgress(key, { id, progress });
    });
  }

  /** undefined: it has no report. */
  get(id: RunId): Reported | undefined {
    return this.#runs.get(runKey(id));
  }

  entries(): IterableIterator<[string, Reported]> {
    return this.#runs.entries();
  }

  /** All runs, including those without a report yet. */
  ids(): RunId[] {
    return [...Array.from(this.#runs.values(), ({ id }) => id), ...this.#waiting.values()];
  }

  /** Progress of active runs that report it. */
  progress(): IterableIterator<[string, RunProgress]> {
    return this.#progress.entries();
  }

  #goesOn(key: string): boolean {
    return this.#waiting.has(key) || this.#runs.get(key)?.report.kind === "running";
  }

  hasJob(jobId: number): boolean {
    return this.#countByJob.has(jobId);
  }

  start(request: RunRequest): void {
    this.#wait(request.id);
    const key = runKey(request.id);
    if (!this.#receivedMs.has(key)) this.#receivedMs.set(key, steadyMs(this.#clock));
    this.#executor.start(request);
  }

  /** The executor's `ahead`: it receives a run as soon as the run is held, because it may begin then. */
  get ahead(): AheadRuns | undefined {
    const { ahead } = this.#executor;
    return (
      ahead && {
        hold: (request) => {
          this.#receivedMs.set(runKey(request.id), steadyMs(this.#clock));
          ahead.hold(request);
        },
        next: (ended) => ahead.next(ended),
        release: async (id) => {
          const isUnbegun = await ahead.release(id);
          if (isUnbegun) this.#receivedMs.delete(runKey(id));
          return isUnbegun;
        },
      }
    );
  }

  /** Rejects a start: the executor never receives it. */
  giveBack(id: RunId, message: string): void {
    const end = { kind: "node-fault", message } as const;
    const endedAtMs = steadyMs(this.#clock);
    this.#tell({ id, report: { kind: "ended", startedAtMs: undefined, endedAtMs, end } });
  }

  /** An executor's report, with times by the steady clock. */
  #timed({ id, report }: Reported): Reported {
    const key = runKey(id);
    const before = this.#runs.get(key)?.report;
    const startedMs = before?.kind === "running" ? before.startedAtMs : undefined;
    const receivedMs = this.#receivedMs.get(key);
    if (report.kind === "ended") this.#receivedMs.delete(key);
    return { id, report: toSteadyTimes(report, this.#clock, { receivedMs, startedMs }) };
  }

  #tell(reported: Reported): void {
    this.#onChange(this.#note(reported), reported);
  }

  /** The server has its end durably. */
  forget(id: RunId): void {
    this.#executor.forget(id);
    if (!this.#runs.delete(runKey(id))) return;
    const left = (this.#countByJob.get(id.jobId) ?? 1) - 1;
    if (left > 0) this.#countByJob.set(id.jobId, left);
    else this.#countByJob.delete(id.jobId);
  }

  #wait(id: RunId): void {
    const key = runKey(id);
    if (this.#runs.has(key) || this.#waiting.has(key)) return;
    this.#waiting.set(key, id);
    this.#count(id);
  }

  #note(run: Reported): string {
    const key = runKey(run.id);
    const isCounted = this.#waiting.delete(key) || this.#runs.has(key);
    if (!isCounted) this.#count(run.id);
    this.#runs.set(key, run);
    if (run.report.kind === "ended") this.#progress.delete(key);
    return key;
  }

  #count({ jobId }: RunId): void {
    this.#countByJob.set(jobId, (this.#countByJob.get(jobId) ?? 0) + 1);
  }
}
