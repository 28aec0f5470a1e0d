import type { ReportedProgress } from "../../../core/model/job/task-progress.ts";
import type { Power } from "../../../core/model/node/power.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import { steadyMs } from "../../../ports/clock.ts";
import type {
  Executor,
  OutputPart,
  RunEnd,
  RunId,
  RunReport,
  RunRequest,
} from "../../../ports/executor.ts";
import { runKey } from "../../runs/run-key.ts";
import type { PowerSchedule } from "./power-schedule.ts";

export interface EdgeExecutorOptions {
  readonly clock: Clock;
  readonly schedule: PowerSchedule;
  /** How much faster than the clock simulated time passes. */
  readonly speedup: number;
}

interface EdgeRun {
  readonly id: RunId;
  readonly share: number;
  /** Simulated time. */
  readonly startedMs: number;
  report: RunReport;
  told: number;
  cancelEnd: () => void;
}

/**
 * A simulated edge: a share takes as long as its power needs for that much energy, and no command runs. It stores nothing: a run of an
 * earlier process is lost, and its reported energy counts.
 */
export class EdgeExecutor implements Executor {
  readonly name = "edge";
  readonly #options: EdgeExecutorOptions;
  readonly #beganMs: number;
  readonly #runs = new Map<string, EdgeRun>();
  #listener: (id: RunId, report: RunReport) => void = () => undefined;
  #onProgress: (id: RunId, progress: ReportedProgress) => void = () => undefined;
  /** Watt-seconds that its shares have used. */
  used = 0;

  constructor(options: EdgeExecutorOptions) {
    this.#options = options;
    this.#beganMs = steadyMs(options.clock);
  }

  /** Its present power, and the next known change, by the clock. */
  power(): Power {
    const { clock, schedule, speedup } = this.#options;
    const nowMs = this.#nowMs();
    const next = schedule.nextChange(nowMs);
    const watts = schedule.wattsAt(nowMs);
    if (next === undefined) return { watts, isBare: true };
    const realMs = clock.nowMs() - steadyMs(clock) + this.#beganMs + next.fromMs / speedup;
    return { watts, isBare: true, changes: [{ atMs: Math.round(realMs), watts: next.watts }] };
  }

  /** Time until its power changes; undefined: never. */
  msToNextChange(): number | undefined {
    const nowMs = this.#nowMs();
    const next = this.#options.schedule.nextChange(nowMs);
    return next === undefined ? undefined : (next.fromMs - nowMs) / this.#options.speedup;
  }

  start({ id, shareWattSeconds: share = 0 }: RunRequest): void {
    const key = runKey(id);
    if (this.#runs.has(key)) return;
    const { clock } = this.#options;
    const report = { kind: "running", startedAtMs: clock.nowMs() } as const;
    const startedMs = this.#nowMs();
    const run = { id, share, startedMs, report, told: 0, cancelEnd: () => undefined };
    this.#runs.set(key, run);
    this.#listener(id, report);
    this.#awaitEnd(run);
  }

  stop(id: RunId): void {
    const run = this.#runs.get(runKey(id));
    if (run !== undefined) this.#end(run, { kind: "stopped", signal: undefined });
  }

  forget(id: RunId): void {
    const key = runKey(id);
    if (this.#runs.get(key)?.report.kind === "ended") this.#runs.delete(key);
  }

  known(): { readonly id: RunId; readonly report: RunReport }[] {
    return Array.from(this.#runs.values(), ({ id, report }) => ({ id, report }));
  }

  queued(): readonly RunId[] {
    return [];
  }

  readOutput(): Promise<OutputPart> {
    return Promise.reject(new AppError("not_found", "a simulated edge prints nothing"));
  }

  onReport(listener: (id: RunId, report: RunReport) => void): void {
    this.#listener = listener;
  }

  onProgress(listener: (id: RunId, progress: ReportedProgress) => void): void {
    this.#onProgress = listener;
  }

  /** Reports the progress of its share, if there is any. Called now and then for all edges of a process. */
  tell(): void {
    for (const run of this.#runs.values()) {
      if (run.report.kind === "ended") continue;
      const progress = this.#progressOf(run);
      if (progress.percent <= run.told) continue;
      run.told = progress.percent;
      this.#onProgress(run.id, progress);
    }
  }

  close(): Promise<void> {
    for (const { cancelEnd } of this.#runs.values()) cancelEnd();
    return Promise.resolve();
  }

  /** Simulated time. */
  #nowMs(): number {
    return (steadyMs(this.#options.clock) - this.#beganMs) * this.#options.speedup;
  }

  #awaitEnd(run: EdgeRun): void {
    const { clock, schedule, speedup } = this.#options;
    const atMs = schedule.whenUsed(run.startedMs, run.share);
    if (atMs === undefined) return; // it has no power, and will have none
    const delayMs = (atMs - this.#nowMs()) / speedup;
    // Timers hold 31 bits of milliseconds.
    run.cancelEnd = clock.after(Math.min(Math.max(0, delayMs), limits.timerMsMax), () => {
      if (this.#nowMs() + 1e-6 < atMs) this.#awaitEnd(run);
      else this.#end(run, { kind: "exited", exitCode: 0 });
    });
  }

  #progressOf({ startedMs, share }: EdgeRun): ReportedProgress {
    const used = this.#options.schedule.energy(startedMs, this.#nowMs());
    const percent = share === 0 ? 100 : Math.min(99.99, Math.floor((1e4 * used) / share) / 100);
    return { percent, message: "" };
  }

  #end(run: EdgeRun, end: RunEnd): void {
    if (run.report.kind === "ended") return;
    run.cancelEnd();
    const isDone = end.kind === "exited";
    const progress = isDone ? { percent: 100, message: "" } : this.#progressOf(run);
    this.used += isDone ? run.share : Math.floor((run.share * progress.percent) / 100);
    const { startedAtMs } = run.report;
    const endedAtMs = this.#options.clock.nowMs();
    run.report = { kind: "ended", startedAtMs, endedAtMs, end, progress };
    this.#listener(run.id, run.report);
  }
}
