import { AppError } from "../../src/lib/errors.ts";
import type { Executor, RunEnd, RunId, RunReport, RunRequest } from "../../src/ports/executor.ts";
import type { ReportedProgress } from "../../src/core/model/job/task-progress.ts";
import type { Run } from "./durable.ts";
import { formatRun } from "./durable.ts";
import { sayingsOf } from "./progress.ts";
import type { Seeded } from "./random.ts";
import type { Seams } from "./seams.ts";
import { ProcessClock } from "./timeline.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";
import { aUsage } from "../../src/testing/a-usage.ts";
import type { Witness } from "./witness.ts";

interface Entry {
  readonly id: RunId;
  readonly writtenAtMs: number;
  report: RunReport;
  isStopping: boolean;
  /** As in its file, which a restart of the machine loses. */
  progress?: ReportedProgress;
}

/** Entries that a machine may lose with its power: they are in the page cache for so long. */
const UNFLUSHED_MS = 5_000;

export interface MachineOptions {
  readonly name: string;
  readonly capacity: Record<string, number>;
  /** Most of its processes take a few milliseconds. */
  readonly isHasty?: boolean;
  readonly timeline: Timeline;
  readonly random: Seeded;
  readonly witness: Witness;
  readonly trace: Trace;
  readonly seams: Seams;
}

/**
 * A machine with its processes and the agent's journal on its disk. Both outlive the agent; a
 * restart of the machine ends the processes and leaves the journal.
 */
export class Machine {
  readonly name: string;
  readonly capacity: Record<string, number>;
  readonly #options: MachineOptions;
  readonly #clock: ProcessClock;
  #boots = 1;
  /** Ends with the machine's processes. */
  #processes: ProcessClock;
  #running = new Map<string, Run>();
  #journal = new Map<string, Entry>();
  #listener: (id: RunId, report: RunReport) => void = () => undefined;
  #onProgress: (id: RunId, progress: ReportedProgress) => void = () => undefined;
  /** It cannot start processes. */
  isSick = false;
  /** Every process fails at once. */
  isBroken = false;
  /** Called once, when the next process starts: faults matter most then. */
  onNextStart: (() => void) | undefined = undefined;

  constructor(options: MachineOptions) {
    this.#options = options;
    this.name = options.name;
    this.capacity = options.capacity;
    this.#clock = new ProcessClock(options.timeline, options.random.int(-5_000, 5_000));
    this.#processes = new ProcessClock(options.timeline);
  }

  get bootId(): string {
    return `${this.name}-boot-${this.#boots}`;
  }

  /** An agent's clock: its own timers, the machine's time. */
  newClock(): ProcessClock {
    const { timeline } = this.#options;
    return new ProcessClock(timeline, this.#clock.nowMs() - timeline.nowMs);
  }

  get running(): Run[] {
    return [...this.#running.values()];
  }

  /** As a new agent finds it. The executor of the last agent receives nothing from here on. */
  openExecutor(): Executor {
    if (this.#options.seams.agentForgetsItsJournal) this.#journal.clear();
    this.detach();
    return {
      name: "simulated",
      start: (request) => this.#start(request),
      stop: (id) => this.#stop(id),
      forget: (id) => {
        if (this.#journal.get(formatRun(id))?.report.kind === "ended") {
          this.#journal.delete(formatRun(id));
        }
      },
      known: () => Array.from(this.#journal.values(), ({ id, report }) => ({ id, report })),
      queued: () => [],
      readOutput: () => Promise.reject(new AppError("not_found", "machines keep no output here")),
      onReport: (listener) => {
        this.#listener = listener;
      },
      onProgress: (listener) => {
        this.#onProgress = listener;
        for (const { id, report, progress } of this.#journal.values()) {
          if (report.kind === "running" && progress !== undefined) listener(id, progress);
        }
      },
      probe: () => (this.isSick ? Promise.reject(new Error("disk full")) : Promise.resolve()),
      close: () => Promise.resolve(),
    };
  }

  /** The agent has died; its processes continue. */
  detach(): void {
    this.#listener = () => undefined;
    this.#onProgress = () => undefined;
  }

  #start({ id }: RunRequest): void {
    if (this.#journal.has(formatRun(id))) return;
    if (this.isSick) {
      this.#giveBack(id);
      return;
    }
    const report = { kind: "running", startedAtMs: this.#clock.nowMs() } as const;
    const writtenAtMs = this.#options.timeline.nowMs;
    this.#journal.set(formatRun(id), { id, report, isStopping: false, writtenAtMs });
    this.#execute(id);
    if (this.#options.seams.machineStartsTwice) this.#execute(id);
    this.#listener(id, report);
  }

  #giveBack(id: RunId): void {
    this.#options.trace.line(`${this.name}: gives back ${formatRun(id)}`);
    const end = { kind: "node-fault", message: "disk full" } as const;
    const endedAtMs = this.#clock.nowMs();
    const report = { kind: "ended", startedAtMs: undefined, endedAtMs, end } as const;
    const writtenAtMs = this.#options.timeline.nowMs;
    this.#journal.set(formatRun(id), { id, report, isStopping: false, writtenAtMs });
    this.#listener(id, report);
  }

  #execute(id: RunId): void {
    const { random, witness, trace } = this.#options;
    this.#running.set(formatRun(id), id);
    trace.line(`${this.name}: runs ${formatRun(id)}`);
    witness.executed(id, { name: this.name, capacity: this.capacity }, this.running);
    this.onNextStart?.();
    this.onNextStart = undefined;
    const { isHasty = false } = this.#options;
    const exitCode = random.chance(isHasty ? 0.97 : 0.85) && !this.isBroken ? 0 : random.int(1, 3);
    const end: RunEnd = random.chance(0.02)
      ? { kind: "signalled", signal: "SIGKILL" }
      : { kind: "exited", exitCode };
    const usualMs = isHasty ? 40 : 20_000;
    const isUsual = random.chance(isHasty ? 0.99 : 0.9);
    const tookMs = isUsual ? random.int(1, usualMs) : random.int(20_000, 180_000);
    this.#processes.after(this.isBroken ? 20 : tookMs, () => this.#end(id, end));
    for (const { afterMs, progress } of sayingsOf(id, this.isBroken ? 20 : tookMs)) {
      this.#processes.after(afterMs, () => this.#say(id, progress));
    }
  }

  #say(id: RunId, progress: ReportedProgress): void {
    const entry = this.#journal.get(formatRun(id));
    if (entry === undefined || !this.#running.has(formatRun(id))) return;
    entry.progress = progress;
    this.#options.witness.said(id, progress);
    this.#onProgress(id, progress);
  }

  #end(id: RunId, end: RunEnd): void {
    const { trace } = this.#options;
    if (!this.#running.delete(formatRun(id))) return;
    this.#options.witness.over(id);
    trace.line(`${this.name}: ${formatRun(id)} ${end.kind}`);
    const entry = this.#journal.get(formatRun(id));
    if (entry === undefined) return;
    entry.report = this.#ended(entry, end);
    this.#listener(id, entry.report);
  }

  #ended({ id, report, progress }: Entry, end: RunEnd): RunReport {
    const { startedAtMs } = report;
    const usage = aUsage(id.jobId, id.index, id.attempt);
    return { kind: "ended", startedAtMs, endedAtMs: this.#clock.nowMs(), end, usage, progress };
  }

  #stop(id: RunId): void {
    const entry = this.#journal.get(formatRun(id));
    if (entry === undefined || entry.report.kind === "ended" || entry.isStopping) return;
    entry.isStopping = true;
    const tookMs = this.#options.random.int(0, 5_000);
    this.#processes.after(tookMs, () => this.#end(id, { kind: "stopped", signal: "SIGTERM" }));
  }

  /** Ends all processes. On power loss, unflushed entries are lost from the journal too. */
  reboot(how: "orderly" | "power-loss"): void {
    const { timeline, trace } = this.#options;
    trace.line(`${this.name}: reboot (${how})`);
    this.detach();
    this.#processes.kill();
    this.#processes = new ProcessClock(timeline);
    for (const run of this.#running.values()) this.#options.witness.over(run);
    this.#running.clear();
    this.#boots++;
    for (const [key, entry] of this.#journal) {
      const isLost = how === "power-loss" && timeline.nowMs - entry.writtenAtMs < UNFLUSHED_MS;
      if (isLost) this.#journal.delete(key);
      else if (entry.report.kind === "running") {
        delete entry.progress;
        entry.report = this.#ended(entry, {
          kind: "vanished",
          message: "the machine was restarted",
        });
      }
    }
  }
}
