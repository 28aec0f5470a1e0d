import { AppError, describeChain } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Executor, RunId, RunReport, RunRequest } from "../../../ports/executor.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { RemoteShell } from "../../../ports/remote-shell.ts";
import { Alarm } from "../../alarm.ts";
import type { KeptBounds } from "../../runs/ledger/kept-outputs.ts";
import { KEPT_BOUNDS } from "../../runs/ledger/kept-outputs.ts";
import { programOf } from "../../runs/command-outcome.ts";
import { parseRunKey, runKey } from "../../runs/run-key.ts";
import type { Place } from "./commands.ts";
import { startCommand } from "./commands.ts";
import { FarSide } from "./remote-runs.ts";
import { KeptRuns } from "./kept-runs.ts";
import { readRemoteOutput } from "./read-output.ts";
import type { Run } from "./run.ts";
import { makeRun, patienceMs } from "./run.ts";
import type { RunFile } from "./run-file.ts";
import { linesOf, NO_TERMS, parseRunFile } from "./run-file.ts";
import { WorkDirectories } from "./work-directories.ts";

export interface RemoteExecutorOptions {
  readonly shell: RemoteShell;
  readonly place: Place;
  /** One word for this link, another one for each. */
  readonly link: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly keptBounds?: KeptBounds;
  /** How the output of a run that has ended begins. */
  readonly onHeads?: (id: RunId, heads: RunFile["heads"]) => void;
}

/**
 * Runs work on a machine that is reached through somebody else's program (see RemoteShell). All that
 * must survive is on that machine's disk (see scripts.ts): a new executor over another link finds it
 * there. What the far end tells is welcome, and nothing depends on it: runs of which nothing was
 * heard for a while are looked at.
 */
export async function createRemoteExecutor(options: RemoteExecutorOptions): Promise<Executor> {
  const runs = new RemoteRuns(options);
  await runs.recover();
  const { shell, place } = options;
  return {
    name: "remote",
    start: (request) => runs.start(request),
    stop: (id) => runs.stop(id),
    forget: (id) => runs.forget(id),
    known: () => runs.known(),
    queued: () => [], // what is started begins at once
    async readOutput(id, stream, how) {
      if (runs.hasNothingThere(id)) return { data: new Uint8Array(), eof: true, truncated: false };
      const query = { stream, isActive: runs.isActive(id), ...how };
      return readRemoteOutput({ shell, place }, runKey(id), query);
    },
    onReport: (listener) => runs.onReport(listener),
    probe: () => runs.probe(),
    close: () => runs.close(),
  };
}

class RemoteRuns {
  readonly #options: RemoteExecutorOptions;
  readonly #far: FarSide;
  readonly #runs = new Map<string, Run>();
  readonly #active = new Set<Run>();
  readonly #kept: KeptRuns;
  readonly #directories: WorkDirectories;
  readonly #alarm: Alarm;
  readonly #listeners: ((id: RunId, report: RunReport) => void)[] = [];
  #isLooking = false;
  #isClosed = false;

  constructor(options: RemoteExecutorOptions) {
    this.#options = options;
    this.#far = new FarSide(options);
    this.#kept = new KeptRuns({ ...options, bounds: options.keptBounds ?? KEPT_BOUNDS });
    this.#directories = new WorkDirectories(options.link);
    this.#alarm = new Alarm(options.clock, () => void this.#look());
  }

  /** Finds what others have started. */
  async recover(): Promise<void> {
    await this.#far.install();
    for (const [key, lines] of await this.#settledSurvey()) {
      const id = parseRunKey(key);
      if (id === undefined) continue;
      const file = parseRunFile(lines, false);
      const found = file?.isOnlyClaimed === true ? await this.#far.bury(key, this.#nowMs) : file;
      if (found?.terms === undefined && found?.report === undefined) continue;
      const { terms = NO_TERMS } = found;
      const run = makeRun(id, terms, limits.killGraceMsDefault, undefined);
      run.isSeen = true;
      run.isAnswered = true; // nobody will tell of it
      run.report = found.report ?? { kind: "running", startedAtMs: terms.sentAtMs };
      this.#runs.set(key, run);
      if (run.report.kind === "running") this.#watch(run);
    }
    const inUse = Array.from(this.#runs.values(), ({ terms }) => terms.work ?? "");
    await this.#kept.recover(new Set(inUse));
  }

  /** A start of the link before may just be on its way: given time, it says who it is. */
  async #settledSurvey(): Promise<ReadonlyMap<string, readonly string[]>> {
    const first = await this.#far.survey([], this.#nowMs);
    if (![...first.values()].some((lines) => lines.includes("claimed"))) return first;
    await new Promise<void>((resolve) => {
      this.#options.clock.after(limits.claimTimeoutMs, resolve);
    });
    return this.#far.survey([], this.#nowMs);
  }

  get #nowMs(): number {
    return this.#options.clock.nowMs();
  }

  /** Writes what starts runs there anew, and runs some of it. */
  async probe(): Promise<void> {
    await this.#far.install();
    await this.#far.survey([], this.#nowMs);
  }

  start(request: RunRequest): void {
    const key = runKey(request.id);
    if (this.#runs.has(key)) return;
    const { place, clock } = this.#options;
    const terms = {
      sentAtMs: clock.nowMs(),
      outputLimitBytes: request.outputLimitBytes,
      work: request.cwd === undefined ? this.#directories.take() : undefined,
      program: programOf(request),
    };
    try {
      const command = startCommand(place, key, terms, request);
      const run = makeRun(request.id, terms, request.killGraceMs, command);
      this.#runs.set(key, run);
      this.#watch(run);
      this.#send(run, command);
    } catch (error) {
      const run = makeRun(request.id, terms, request.killGraceMs, undefined);
      this.#runs.set(key, run);
      queueMicrotask(() => this.#refuse(run, describeChain(error)));
    }
  }

  stop(id: RunId): void {
    const run = this.#runs.get(runKey(id));
    if (run === undefined || run.report?.kind === "ended" || run.isStopping) return;
    run.isStopping = true;
    void this.#stop(run);
  }

  forget(id: RunId): void {
    const key = runKey(id);
    const run = this.#runs.get(key);
    if (run?.report?.kind !== "ended") return;
    this.#runs.delete(key);
    this.#kept.forget(key, run.isClean ? undefined : run.terms.work);
  }

  known(): { readonly id: RunId; readonly report: RunReport }[] {
    const known: { id: RunId; report: RunReport }[] = [];
    for (const { id, report } of this.#runs.values()) {
      if (report !== undefined) known.push({ id, report });
    }
    return known;
  }

  /** It was refused before it was sent. */
  hasNothingThere(id: RunId): boolean {
    const run = this.#runs.get(runKey(id));
    return run?.report?.kind === "ended" && run.command === undefined && !run.isSeen;
  }

  isActive(id: RunId): boolean {
    const run = this.#runs.get(runKey(id));
    return run !== undefined && this.#active.has(run);
  }

  onReport(listener: (id: RunId, report: RunReport) => void): void {
    this.#listeners.push(listener);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#alarm.stop();
    await this.#kept.close();
  }

  #send(run: Run, command: readonly string[]): void {
    const { shell, clock } = this.#options;
    run.heardAtMs = clock.nowMs();
    shell.exec(command, { onAccepted: () => this.#running(run) }).then(
      ({ stdout }) => this.#answered(run, linesOf(stdout)),
      (error: unknown) => this.#notSent(run, error),
    );
  }

  #notSent(run: Run, error: unknown): void {
    const known = AppError.from(error, "send it to its machine");
    // A link that has ended, or has no room now, says nothing of the run.
    if (known.code !== "invalid_argument") return;
    this.#refuse(run, describeChain(known));
  }

  /** What came back may tell of the end; if not, the run is looked at. */
  #answered(run: Run, lines: readonly string[]): void {
    run.isAnswered = true;
    const file = parseRunFile(lines, run.isStopping);
    // While it is being stopped, others of its session may still have their grace period.
    if (run.isStopping) return;
    if (file?.report !== undefined) this.#ended(run, file.report, file);
    else void this.#lookAt([run]);
  }

  async #stop(run: Run): Promise<void> {
    const { clock } = this.#options;
    try {
      const file = await this.#far.stop(run, clock.nowMs());
      if (file?.report !== undefined) return this.#ended(run, file.report, file);
    } catch (error) {
      if (this.#isOver) return;
      this.#warn("a run could not be stopped yet", run, error);
    }
    clock.after(limits.remoteRetryMs, () => {
      if (!this.#isOver && this.#active.has(run)) void this.#stop(run);
    });
  }

  get #isOver(): boolean {
    return this.#isClosed || this.#options.shell.closed.aborted;
  }

  #watch(run: Run): void {
    this.#active.add(run);
    run.heardAtMs = this.#nowMs;
    this.#alarm.wakeBy(run.heardAtMs + patienceMs(run));
  }

  /** Those that nothing was heard of for a while. One look at a time, however long it takes. */
  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const { clock } = this.#options;
    const nowMs = clock.nowMs();
    const due = [...this.#active].filter((run) => nowMs - run.heardAtMs >= patienceMs(run));
    for (let at = 0; at < due.length && !this.#isOver; at += limits.remoteSurveyRunsMax) {
      await this.#lookAt(due.slice(at, at + limits.remoteSurveyRunsMax));
    }
    this.#isLooking = false;
    if (this.#isOver) return;
    for (const run of this.#active) this.#alarm.wakeBy(clock.nowMs() + patienceMs(run));
  }

  async #lookAt(runs: readonly Run[]): Promise<void> {
    try {
      const survey = await this.#far.survey(runs, this.#nowMs);
      for (const run of runs) this.#seen(run, survey.get(run.key));
    } catch (error) {
      if (this.#isOver) return;
      for (const run of runs) this.#warn("a run could not be looked at yet", run, error);
      this.#alarm.wakeBy(this.#nowMs + limits.remoteSurveyMs);
    }
  }

  #seen(run: Run, lines: readonly string[] | undefined): void {
    if (!this.#active.has(run) || run.isStopping) return;
    const nowMs = this.#nowMs;
    if (lines === undefined) return this.#missing(run, nowMs);
    run.heardAtMs = nowMs;
    run.isSeen = true;
    const file = parseRunFile(lines, false);
    if (file?.report !== undefined) return this.#ended(run, file.report, file);
    if (file?.isOnlyClaimed !== true) return this.#running(run);
    run.claimedSinceMs ??= nowMs;
    if (nowMs - run.claimedSinceMs < limits.claimTimeoutMs) return;
    void this.#far.bury(run.key, nowMs).then(
      (buried) => buried?.report && this.#ended(run, buried.report, buried),
      (error: unknown) => this.#warn("a run could not be given up yet", run, error),
    );
  }

  /**
   * Nothing of it is there. If nothing ever was, it did not begin, and may be sent again. Otherwise
   * somebody has removed its files, and it may go on: its end is waited for.
   */
  #missing(run: Run, nowMs: number): void {
    if (run.isSeen && run.isAnswered) {
      const end = { kind: "vanished", message: "its files on its machine are gone" } as const;
      const startedAtMs = run.terms.sentAtMs;
      this.#ended(run, { kind: "ended", startedAtMs, endedAtMs: nowMs, end });
    } else if (run.isAnswered) {
      void this.#sendOnceMore(run);
    } else if (!run.isSeen && run.command !== undefined) {
      this.#send(run, run.command);
    }
  }

  /** Somebody may have cleared away what starts runs there. */
  async #sendOnceMore(run: Run): Promise<void> {
    const refusal = "its machine could not run it: nothing began there";
    if (run.isSentOnceMore || run.command === undefined) {
      return this.#refuse(run, refusal, "node-fault");
    }
    run.isSentOnceMore = true;
    run.isAnswered = false;
    try {
      await this.#far.install();
    } catch (error) {
      if (!this.#isOver) this.#refuse(run, `${refusal}: ${describeChain(error)}`, "node-fault");
      return;
    }
    this.#send(run, run.command);
  }

  #running(run: Run): void {
    run.heardAtMs = this.#nowMs;
    if (run.report !== undefined) return;
    this.#tell(run, { kind: "running", startedAtMs: run.terms.sentAtMs });
  }

  #refuse(
    run: Run,
    message: string,
    kind: "could-not-start" | "node-fault" = "could-not-start",
  ): void {
    const endedAtMs = this.#nowMs;
    const end = { kind, message };
    this.#ended(run, { kind: "ended", startedAtMs: undefined, endedAtMs, end });
  }

  #ended(run: Run, report: RunReport, file?: RunFile): void {
    if (run.report?.kind === "ended") return;
    this.#active.delete(run);
    if (file !== undefined) {
      this.#kept.note(run.key, file.bytes);
      this.#options.onHeads?.(run.id, file.heads);
      run.isClean = file.isClean;
      if (file.isClean && run.terms.work !== undefined) this.#directories.giveBack(run.terms.work);
    }
    this.#tell(run, report);
  }

  #tell(run: Run, report: RunReport): void {
    run.report = report;
    if (this.#isClosed) return;
    for (const listener of this.#listeners) listener(run.id, report);
  }

  #warn(text: string, { key }: Run, error: unknown): void {
    this.#options.logger.warn({ run: key, error: describeChain(error) }, text);
  }
}
