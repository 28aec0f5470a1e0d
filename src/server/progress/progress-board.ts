import type { NodeId } from "../../core/model/ids.ts";
import type {
  AnswerTo,
  CommandOf,
  ProgressOutcome,
  ProgressReport,
} from "../../core/state/command.ts";
import { standingOf } from "../../core/state/decide/tasks/report-progress.ts";
import type { State } from "../../core/state/state.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import { steadyMs } from "../../ports/clock.ts";
import type { ControlLoop } from "../loop/control-loop.ts";
import type { Rider } from "../loop/loop-options.ts";

/** The newest progress of one attempt. */
interface Pending {
  report: ProgressReport;
  /** Callers that receive their answers when it is durable. */
  readonly waiters: {
    readonly resolve: (outcome: ProgressOutcome) => void;
    readonly reject: (error: unknown) => void;
  }[];
}

/**
 * Holds the progress of attempts until it is stored. A number alone is not worth a commit: pending progress goes
 * along with a commit that happens anyway, or all of it together in one of its own, a second after the last.
 * Nobody sees it before that: docs/design/progress.md.
 */
export class ProgressBoard {
  readonly #loop: () => ControlLoop;
  readonly #clock: Clock;
  readonly #pending = new Map<string, Pending>();
  #takenAtMs = Number.NEGATIVE_INFINITY;
  #alarm: { readonly atMs: number; readonly cancel: () => void } | undefined;
  /** A caller waits for some reports; the next commit stores all of these, up to the bound of one commit. */
  #isAwaited = false;
  #isClosed = false;
  /** Number of reports by outcome. */
  readonly counts: Record<ProgressOutcome | "replaced" | "dropped", number> = {
    taken: 0,
    known: 0,
    early: 0,
    late: 0,
    replaced: 0,
    dropped: 0,
  };

  constructor(options: { readonly loop: () => ControlLoop; readonly clock: Clock }) {
    this.#loop = options.loop;
    this.#clock = options.clock;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** An agent reports the progress of runs of its node. The board ignores runs of other nodes. */
  told(nodeId: NodeId, reports: readonly Pick<ProgressReport, "run" | "progress">[]): void {
    this.#loop().peek((state) => {
      for (const { run, progress } of reports) {
        const report = { run, nodeId, progress };
        if (standingOf(state.task(run), report) === "late") this.counts.late++;
        else this.#add(report);
      }
    });
    this.#arrange();
  }

  /** A caller reports the progress of an attempt. Resolves when the report is durable, or changes nothing. */
  report(report: ProgressReport): Promise<ProgressOutcome> {
    return new Promise((resolve, reject) => {
      const pending = this.#isClosed ? undefined : this.#add(report);
      if (pending === undefined) {
        reject(
          new AppError("exhausted", "too many progress reports wait to be stored; try again later"),
        );
        return;
      }
      pending.waiters.push({ resolve, reject });
      this.#isAwaited = true;
      this.#arrange();
    });
  }

  /** For a commit that happens anyway. */
  along(): Rider<"report-progress"> | undefined {
    if (this.#pending.size === 0) return undefined;
    if (steadyMs(this.#clock) - this.#takenAtMs < limits.progressAlongMs) return undefined;
    return this.#take();
  }

  close(): void {
    this.#isClosed = true;
    this.#alarm?.cancel();
    const error = new AppError("unavailable", "the server is stopping");
    for (const { waiters } of this.#pending.values()) {
      for (const { reject } of waiters) reject(error);
    }
    this.#pending.clear();
  }

  /** undefined: too many reports are pending. */
  #add(report: ProgressReport): Pending | undefined {
    const { jobId, index, attempt } = report.run;
    const key = `${jobId}.${index}.${attempt}`;
    const known = this.#pending.get(key);
    if (known !== undefined) {
      this.counts.replaced++;
      const isLater = report.progress.percent >= known.report.progress.percent;
      const { progress } = isLater ? report : known.report;
      // A caller may report runs of any node.
      const nodeId = known.report.nodeId === undefined ? undefined : report.nodeId;
      known.report = { run: report.run, nodeId, progress };
      return known;
    }
    if (this.#pending.size >= limits.progressPendingMax) {
      this.counts.dropped++;
      return undefined;
    }
    const pending = { report, waiters: [] };
    this.#pending.set(key, pending);
    return pending;
  }

  /** A commit of its own, when it is due. */
  #arrange(): void {
    if (this.#isClosed || this.#pending.size === 0) return;
    const afterMs = this.#isAwaited ? limits.progressAlongMs : limits.progressCommitMs;
    const nowMs = steadyMs(this.#clock);
    const atMs = Math.max(nowMs, this.#takenAtMs + afterMs);
    if (this.#alarm !== undefined && this.#alarm.atMs <= atMs) return;
    this.#alarm?.cancel();
    this.#alarm = { atMs, cancel: this.#clock.after(atMs - nowMs, () => this.#ring()) };
  }

  #ring(): void {
    this.#alarm = undefined;
    const taken = this.#take();
    if (taken === undefined) return;
    this.#loop().submit(taken.command).then(taken.resolve, taken.reject);
  }

  /** The oldest reports that may be stored now; undefined: none. */
  #take(): Rider<"report-progress"> | undefined {
    const nowMs = this.#clock.nowMs();
    this.#takenAtMs = steadyMs(this.#clock);
    const taken = this.#loop().peek((state) => this.#due(state, nowMs));
    for (const [key] of taken) this.#pending.delete(key);
    this.#isAwaited = taken.length >= limits.progressPerCommitMax;
    this.#alarm?.cancel();
    this.#alarm = undefined;
    this.#arrange();
    if (taken.length === 0) return undefined;
    const reports = taken.map(([, { report }]) => report);
    return {
      command: { kind: "report-progress", reports, nowMs } satisfies CommandOf<"report-progress">,
      resolve: (answer) => this.#durable(taken, answer),
      reject: (error) => this.#refused(taken, error),
    };
  }

  #due(state: State, nowMs: number): [string, Pending][] {
    const due: [string, Pending][] = [];
    for (const entry of this.#pending) {
      if (due.length >= limits.progressPerCommitMax) break;
      const [, { report, waiters }] = entry;
      const task = state.task(report.run);
      const storedMsAgo = nowMs - (task?.progress?.atMs ?? Number.NEGATIVE_INFINITY);
      const isTooSoon = storedMsAgo >= 0 && storedMsAgo < limits.progressTaskMs;
      const mayWait = isTooSoon || standingOf(task, report) === "early";
      if (waiters.length > 0 || !mayWait) due.push(entry);
    }
    return due;
  }

  #durable(taken: readonly [string, Pending][], { outcomes }: AnswerTo<"report-progress">): void {
    for (const [at, [, { waiters }]] of taken.entries()) {
      const outcome = outcomes[at] ?? "late";
      this.counts[outcome]++;
      for (const { resolve } of waiters) resolve(outcome);
    }
  }

  /** The loop is full or stopped: reports of agents wait, callers receive the error. */
  #refused(taken: readonly [string, Pending][], error: unknown): void {
    for (const [, { report, waiters }] of taken) {
      for (const { reject } of waiters) reject(error);
      if (report.nodeId !== undefined && !this.#isClosed) this.#add(report);
    }
    this.#arrange();
  }
}
