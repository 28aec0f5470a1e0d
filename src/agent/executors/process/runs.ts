import type { Usage } from "../../../core/model/job/usage.ts";
import { type AppError, describeChain } from "../../../lib/errors.ts";
import { invariant } from "../../../lib/invariant.ts";
import type { Executor, RunEnd, RunId, RunRequest } from "../../../ports/executor.ts";
import type { ProcessOutcome } from "./end.ts";
import { endOfRun, neverBegan, RESTARTED, SHELL_DIED } from "./end.ts";
import type { ProcessEntry } from "./journal-entries.ts";
import { ProcessReplay } from "./journal-entries.ts";
import type { StopCause } from "../../runs/ledger/run-entries.ts";
import { RunLedger } from "../../runs/ledger/run-ledger.ts";
import { describeOwnFault } from "../../runs/machine-fault.ts";
import { DiskSpace } from "../../runs/disk-space.ts";
import { launchOf, termsOf } from "./launchers/launch.ts";
import { placed } from "../../runs/place/placed.ts";
import { progressDirectoryOf } from "../../runs/progress/progress-directory.ts";
import { ProgressFiles } from "../../runs/progress/progress-files.ts";
import { OutputReader, readFrom } from "../../runs/output-reader.ts";
import { cutOutput, outputBytes } from "../../runs/output.ts";
import type { CommandOutcome } from "../../runs/command-outcome.ts";
import { hasRun } from "../../runs/command-outcome.ts";
import type { ProcessRun, ProcessRunTerms, ProcessStop, Wrapper } from "./run.ts";
import { bytesOf, endReportOf, isActive, reportOf, stopOf, strayTerms, TOLD } from "./run.ts";
import { idOf, runKey } from "../../runs/run-key.ts";
import { RunGroups } from "./cgroups/run-groups.ts";
import { RunFiles, wrappersOf } from "./run-files.ts";
import type { Gone, Launch } from "./launchers/starter.ts";
import type { StateFile } from "./state-file.ts";
import type { RunsOptions } from "./runs-options.ts";
import { Survivors } from "./survivors.ts";
import { Watch } from "./watch.ts";

/** The runs of one process executor: their states, and the steps between them. */
export class Runs {
  readonly #options: RunsOptions;
  readonly #ledger: RunLedger<ProcessRun, ProcessRunTerms, ProcessEntry>;
  readonly #files: RunFiles;
  readonly #outputs: OutputReader;
  readonly #survivors: Survivors;
  readonly #groups: RunGroups;
  readonly #watch: Watch;
  readonly #disk: DiskSpace;
  readonly #progress: ProgressFiles;

  constructor(options: RunsOptions) {
    this.#options = options;
    this.#progress = new ProgressFiles({
      ...options,
      directory: progressDirectoryOf(options.directory, options.tag),
      isActive: (key) => isActive(this.#ledger.runs.get(key)),
    });
    this.#disk = new DiskSpace(options.directory, options.clock);
    this.#files = new RunFiles(options);
    const ledger = new RunLedger<ProcessRun, ProcessRunTerms, ProcessEntry>({
      ...options,
      firstEntry: "started",
      reportOf,
      stopOf,
      summary: { before: () => [{ kind: "boot", bootId: options.bootId }] },
      onReplaced: (key) => options.remover.remove(this.#files.directoryOf(key)),
      onRemoved: (key, output) => this.#files.discardKept(key, output),
    });
    this.#ledger = ledger;
    this.#outputs = new OutputReader(options.clock, (key, stream, how) =>
      readFrom(this.#files.outputOf(key, ledger.runs.get(key), ledger.kept), stream, how),
    );
    this.#survivors = new Survivors({
      ...options,
      orphans: () => options.logs.orphans(),
      isActive: (key) => !options.endsSurvivors || isActive(ledger.runs.get(key)),
    });
    this.#groups = new RunGroups({ ...options, files: options.cgroupFiles });
    this.#watch = new Watch({
      clock: options.clock,
      active: ledger.active,
      sessions: options.sessions,
      survivors: this.#survivors,
      groups: this.#groups,
      isNative: (key) => options.logs.has(key),
      directoryOf: (key) => this.#files.directoryOf(key),
      readState: (key) => this.#files.read(key),
      refresh: () => options.logs.refresh(),
      onWrapperKnown: (run, file) => this.#adopt(run, file),
      onWrapperGone: (run, file) => this.#onWrapperGone(run, file),
      onTimeLimit: (run) => this.#beginStop(run, "time-limit"),
      onDeserted: (run, file) => this.#endAsLeft(run, file, SHELL_DIED),
      alsoAt: (nowMs) => ledger.removeSurplus(nowMs),
    });
  }

  /** Finds the runs of earlier processes. Called once, before anything else. */
  async recover(): Promise<void> {
    const { directory, spareDirectory, bootId, remover, logs, clock, attached } = this.#options;
    const replay = new ProcessReplay();
    const remembered = [...this.#ledger.read(directory, replay)];
    const isSameBoot = replay.isSameBoot(bootId);
    if (isSameBoot) {
      const unended = remembered.filter(([, { ended }]) => ended === undefined);
      const keys = unended.map(([key]) => key);
      await this.#files.awaitTaken(keys, clock);
    }
    // From now on no lane or launcher of an earlier process begins a run.
    remover.remove(spareDirectory);
    await logs.closeEarlier(clock);
    for (const [key, { terms, stop, ended }] of remembered) {
      if (ended === undefined) {
        const run = this.#restoreRunning(key, terms, stop && { ...stop, sent: undefined });
        this.#resume(run, isSameBoot);
      } else {
        const state = { kind: "ended", report: ended } as const;
        this.#ledger.restore({ id: idOf(key), key, terms, hasBegun: true, state, left: undefined });
      }
    }
    this.#recoverStrays();
    this.#ledger.open(directory);
    this.#watch.look();
    this.#progress.open();
    const activeKeys = new Set(Array.from(this.#ledger.active, ({ key }) => key));
    this.#groups.recover(activeKeys);
    this.#options.containers?.recover(activeKeys);
    attached.recover(activeKeys);
    this.#survivors.ended(false); // of runs that ended while no agent was running
  }

  start(asked: RunRequest): void {
    const key = runKey(asked.id);
    if (!this.#ledger.canAccept(key)) return;
    const request = placed(asked, "here");
    const directory = this.#files.directoryOf(key);
    const group = this.#groups.planOf(key, request.needs);
    const terms = termsOf(request, this.#options.clock.nowMs(), group?.terms);
    const state = { kind: "running", wrapper: TOLD, stop: undefined } as const;
    const run: ProcessRun = { id: request.id, key, terms, hasBegun: false, state, left: undefined };
    this.#ledger.accept(run);
    const fault = this.#ledger.isFull ? "the agent has too many runs" : this.#disk.fault();
    if (fault !== undefined) return this.#end(run, { kind: "node-fault", message: fault });
    try {
      const progressFile = this.#progress.pathOf(key);
      const launch = launchOf(request, { ...this.#options, directory, group, progressFile });
      this.#ledger.after((failure) => this.#launch(run, launch, failure));
    } catch (error) {
      this.#end(run, { kind: "could-not-start", message: describeChain(error) });
    }
  }

  stop(id: RunId): void {
    const run = this.#ledger.runs.get(runKey(id));
    if (run === undefined || run.state.kind !== "running" || run.state.stop !== undefined) return;
    // A run that has already ended by itself is not stopped: its end will be reported.
    if (this.#files.read(run.key)?.outcome !== undefined) return;
    this.#beginStop(run, "stopped");
  }

  forget(id: RunId): void {
    const key = runKey(id);
    const run = this.#ledger.runs.get(key);
    if (run === undefined || run.state.kind !== "ended") return;
    const { outputLimitBytes } = run.terms;
    const { isClean = false, hasFiles = true } = run.left ?? {};
    const forgottenAtMs = this.#options.clock.nowMs();
    const directory = this.#files.pathOf(key);
    this.#options.logs.release(key, directory);
    const bytes = bytesOf(run) ?? outputBytes(directory);
    const isEmpty = !hasFiles || (isClean && bytes === 0);
    // An empty output reads the same without a file. The rest of a clean directory stays.
    if (isEmpty && hasFiles) this.#ledger.after(() => this.#files.discard(directory, true));
    else if (!isEmpty && !isClean) this.#options.remover.removeWork(directory);
    this.#ledger.forget(run, { forgottenAtMs, bytes, outputLimitBytes, isClean, isEmpty });
  }

  known(): ReturnType<Executor["known"]> {
    return this.#ledger.known();
  }

  queued(): readonly RunId[] {
    return this.#ledger.queued().map(({ id }) => id);
  }

  onReport(listener: Parameters<Executor["onReport"]>[0]): void {
    this.#ledger.onReport(listener);
  }

  onProgress(listener: Parameters<ProgressFiles["onProgress"]>[0]): void {
    this.#progress.onProgress(listener);
  }

  readOutput: Executor["readOutput"] = (id, stream, how) =>
    this.#outputs.read(runKey(id), stream, how);

  rewriteJournal = (): void => this.#ledger.rewrite();

  /** Stops watching. False when it was called before. */
  close(): boolean {
    if (!this.#ledger.close()) return false;
    this.#watch.stop();
    this.#survivors.close();
    this.#groups.close();
    this.#outputs.close();
    this.#progress.close(this.#ledger.active.size === 0);
    return true;
  }

  /** A run of an earlier process that had not ended. */
  #restoreRunning(key: string, terms: ProcessRunTerms, stop: ProcessStop | undefined): ProcessRun {
    const wrapper: Wrapper = { kind: "unknown", sinceMs: this.#options.clock.nowMs() };
    const state = { kind: "running", wrapper, stop } as const;
    const run: ProcessRun = { id: idOf(key), key, terms, hasBegun: true, state, left: undefined };
    this.#ledger.restore(run);
    return run;
  }

  #launch(run: ProcessRun, launch: Launch, failure: AppError | undefined): void {
    if (failure !== undefined) {
      const message = describeOwnFault(failure, this.#options.directory);
      return this.#end(run, { kind: "node-fault", message });
    }
    if (run.state.kind !== "running") return;
    // Before the starter received it.
    if (run.state.stop !== undefined) return this.#lookUp(run, "it was stopped");
    const message = this.#groups.create(launch);
    if (message !== undefined) return this.#end(run, { kind: "node-fault", message });
    this.#options.starter.start(
      launch,
      (gone) => this.#onGone(run, gone),
      (atMs) => this.#onStarted(run, atMs),
    );
    this.#watch.begin(run);
  }

  #onStarted(run: ProcessRun, atMs: number | undefined): void {
    if (run.state.kind !== "running") return;
    if (atMs !== undefined) run.terms = { ...run.terms, startedAtMs: atMs };
    if (run.hasBegun) return;
    run.hasBegun = true;
    run.begunAt = performance.now();
    const { key } = run;
    // Native launchers have it in their records.
    if (!this.#options.logs.has(key))
      this.#ledger.note({ kind: "begun", key, atMs: run.terms.startedAtMs });
    this.#ledger.notify(run);
    this.#watch.begin(run);
  }

  /** The starter reports the outcome of a launch. */
  #onGone(run: ProcessRun, gone: Gone): void {
    if (run.state.kind !== "running") return;
    if (gone.kind === "could-not-start" || gone.kind === "node-fault") {
      this.#end(run, gone);
    } else if (gone.kind === "gone") {
      this.#lookUp(run, gone.how);
    } else {
      const { outcome, usage } = gone;
      const { stop } = run.state;
      // A stop may have been marked after the lane had checked: the next run would find the mark.
      run.left = { ...gone, isClean: gone.isClean && stop === undefined };
      if (stop !== undefined && hasRun(outcome)) {
        this.#lookUp(run, "it ended");
      } else {
        this.#end(run, endOfRun(this.#about(run, outcome), stop), gone.endedAtMs, usage);
      }
    }
  }

  /** The run has ended, or has a wrapper that does not report to this process. */
  #lookUp(run: ProcessRun, how: string): void {
    invariant(run.state.kind === "running", "only a running run is looked up");
    const { stop } = run.state;
    const file = this.#files.read(run.key);
    if (file?.session !== undefined) this.#onStarted(run, file.startedAtMs);
    if (file === undefined) {
      const end = neverBegan(this.#files.directoryOf(run.key), how);
      this.#end(run, stop === undefined ? end : endOfRun(this.#about(run, undefined), stop));
    } else if (file.outcome !== undefined) {
      this.#onWrapperGone(run, file);
    } else {
      this.#adopt(run, file);
      this.#watch.checkWrapper(run, this.#options.clock.nowMs());
    }
  }

  /** Polls a run whose end no starter of this process will report. */
  #adopt(run: ProcessRun, file: StateFile): void {
    invariant(run.state.kind === "running", "only a running run is adopted");
    const wrapper =
      file.wrapper === undefined
        ? ({ kind: "unknown", sinceMs: file.writtenAtMs } as const)
        : ({ kind: "adopted", identities: wrappersOf(file) } as const);
    run.state = { ...run.state, wrapper };
    if (file.session !== undefined) this.#onStarted(run, file.startedAtMs);
    this.#watch.lookSoon();
  }

  /** A run of an earlier process, known only from the journal. */
  #resume(run: ProcessRun, isSameBoot: boolean): void {
    invariant(run.state.kind === "running", "a resumed run has not ended");
    if (this.#files.takeUnbegun(run.key)) {
      if (run.state.stop === undefined) this.#ledger.drop(run);
      else this.#end(run, { kind: run.state.stop.cause, signal: undefined });
    } else {
      this.#findAgain(run, isSameBoot);
    }
  }

  /** False when no wrapper has claimed the run. */
  #findAgain(run: ProcessRun, isSameBoot = true): boolean {
    const file = this.#files.read(run.key);
    if (file === undefined) return false;
    if (!isSameBoot && file.outcome === undefined) {
      this.#endAsLeft(run, file, RESTARTED);
    } else if (!isSameBoot) {
      this.#endAsLeft(run, file, SHELL_DIED);
    } else {
      this.#adopt(run, file);
      this.#watch.checkWrapper(run, this.#options.clock.nowMs());
    }
    return true;
  }

  /** Runs without an entry, after a journal was lost: the agent must adopt those that are alive. */
  #recoverStrays(): void {
    const { runs, kept } = this.#ledger;
    for (const key of this.#files.findStrays((found) => runs.has(found) || kept.has(found))) {
      const terms = strayTerms(this.#options.clock.nowMs(), this.#groups.find(key));
      this.#findAgain(this.#restoreRunning(key, terms, undefined));
    }
  }

  #beginStop(run: ProcessRun, cause: StopCause): void {
    invariant(run.state.kind === "running", "only a running run is stopped");
    const order = this.#ledger.orderStop(run, cause, run.terms.killGraceMs);
    run.state = { ...run.state, stop: { ...order, sent: undefined } };
    this.#ledger.after(() => this.#markStop(run)); // stops of one turn are written together
  }

  #markStop(run: ProcessRun): void {
    if (run.state.kind === "ended") return;
    const { key } = run;
    try {
      if (!this.#options.starter.cancel(key)) this.#files.markStopping(key);
    } catch (error) {
      this.#options.logger.warn({ run: key, error: describeChain(error) }, "could not mark a stop");
    }
    this.#watch.lookSoon();
  }

  /** The wrapper that had claimed the run has ended. */
  #onWrapperGone(run: ProcessRun, file: StateFile): void {
    invariant(run.state.kind === "running", "a wrapper is gone once");
    const { session } = file;
    if (run.state.stop !== undefined && session !== undefined) {
      run.state = { kind: "lingering", session, stop: run.state.stop };
      this.#watch.lookSoon();
      return;
    }
    if (file.outcome === undefined && session !== undefined) {
      this.#options.sessions.killOrphans([session]);
    }
    this.#endAsLeft(run, file, SHELL_DIED);
  }

  #endAsLeft(run: ProcessRun, file: StateFile, vanished: string): void {
    invariant(run.state.kind !== "ended", "a run ends once");
    const end = endOfRun(this.#about(run, file.outcome, vanished), run.state.stop);
    const endedAtMs = file.outcome === undefined ? this.#options.clock.nowMs() : file.writtenAtMs;
    this.#end(run, end, endedAtMs, file.usage);
  }

  #about(
    { terms }: ProcessRun,
    outcome: CommandOutcome | undefined,
    vanished = "",
  ): ProcessOutcome {
    const { directory, searchPath } = this.#options;
    return { terms, directory, searchPath, outcome, vanished };
  }

  #end(
    run: ProcessRun,
    end: RunEnd,
    endedAtMs = this.#options.clock.nowMs(),
    measured?: Usage,
  ): void {
    if (run.state.kind === "ended") return;
    const { key } = run;
    const { outputLimitBytes, group } = run.terms;
    const isShort = run.left?.outputBytes.every((bytes) => bytes <= outputLimitBytes);
    if (isShort !== true) cutOutput(this.#files.directoryOf(key), outputLimitBytes);
    const judged = this.#groups.judge(this.#options.containers?.judge(key, end) ?? end, group);
    const ended = endReportOf(run, judged, endedAtMs, measured);
    const progress = this.#progress.ended(key);
    const report = progress === undefined ? ended : { ...ended, progress };
    run.state = { kind: "ended", report };
    this.#ledger.end(run, report);
    this.#outputs.ended(key);
    this.#options.attached.ended(key);
    this.#options.containers?.ended(key);
    if (group !== undefined) this.#groups.ended(group.path);
    else if (run.hasBegun) this.#survivors.ended(this.#options.logs.has(key));
  }
}
