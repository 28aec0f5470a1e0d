import type { Usage } from "../../../core/model/job/usage.ts";
import { type AppError, describeChain } from "../../../lib/errors.ts";
import { invariant } from "../../../lib/invariant.ts";
import { limits } from "../../../limits.ts";
import type { Executor, RunEnd, RunId, RunReport, RunRequest } from "../../../ports/executor.ts";
import type { Outcome } from "./end.ts";
import { endOfRun, neverBegan, RESTARTED, SHELL_DIED } from "./end.ts";
import type { JournalEntry } from "./journal-entry.ts";
import { createJournal, readJournal } from "../../runs/journal.ts";
import { KeptOutputs } from "../../runs/kept-outputs.ts";
import { describeOwnFault } from "../../runs/machine-fault.ts";
import { DiskSpace } from "../../runs/disk-space.ts";
import { launchOf, termsOf } from "./launchers/launch.ts";
import { Ledger } from "../../runs/ledger.ts";
import { OutputReader, readFrom } from "../../runs/output-reader.ts";
import { cutOutput, outputBytes } from "../../runs/output.ts";
import { recall, summarise, unendedOf } from "./recover.ts";
import type { CommandOutcome } from "../../runs/command-outcome.ts";
import { hasRun } from "../../runs/command-outcome.ts";
import type { Run, RunTerms, Stop, StopCause, Wrapper } from "./run.ts";
import { bytesOf, endReportOf, isActive, knownOf, queuedOf, reportOf, strayTerms } from "./run.ts";
import { idOf, runKey } from "../../runs/run-key.ts";
import { RunGroups } from "./cgroups/run-groups.ts";
import { RunFiles, wrappersOf } from "./run-files.ts";
import type { Gone, Launch } from "./launchers/starter.ts";
import type { StateFile } from "./state-file.ts";
import type { RunsOptions } from "./runs-options.ts";
import { Survivors } from "./survivors.ts";
import { Watch } from "./watch.ts";

type Listener = Parameters<Executor["onReport"]>[0];

/** The runs of one process executor: their states, and the steps between them. */
export class Runs {
  readonly #options: RunsOptions;
  readonly #runs = new Map<string, Run>();
  readonly #active = new Set<Run>(); // those of #runs that have not ended
  readonly #files: RunFiles;
  readonly #kept: KeptOutputs;
  readonly #outputs: OutputReader;
  readonly #survivors: Survivors;
  readonly #groups: RunGroups;
  readonly #watch: Watch;
  readonly #listeners: Listener[] = [];
  readonly #ledger: Ledger<JournalEntry>;
  readonly #disk: DiskSpace;
  #closed = false;

  constructor(options: RunsOptions) {
    this.#options = options;
    this.#disk = new DiskSpace(options.directory, options.clock);
    this.#ledger = new Ledger(options.logger);
    this.#files = new RunFiles(options);
    this.#kept = new KeptOutputs(options.keptBounds);
    this.#outputs = new OutputReader(options.clock, (key, stream, how) =>
      readFrom(this.#files.outputOf(key, this.#runs.get(key), this.#kept.get(key)), stream, how),
    );
    this.#survivors = new Survivors({
      ...options,
      orphans: () => options.logs.orphans(),
      isActive: (key) => !options.endsSurvivors || isActive(this.#runs.get(key)),
    });
    this.#groups = new RunGroups({ ...options, files: options.cgroupFiles });
    this.#watch = new Watch({
      clock: options.clock,
      active: this.#active,
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
      alsoAt: (nowMs) => this.#removeSurplus(nowMs),
    });
  }

  /** Finds what earlier lives left. Called once, before anything else. */
  async recover(): Promise<void> {
    const { directory, spareDirectory, bootId, logger, remover, logs, clock } = this.#options;
    const { entries, damaged } = readJournal(directory);
    if (damaged > 0) logger.warn({ damaged }, "left out damaged lines of the journal");
    const memory = recall(entries as JournalEntry[], this.#kept);
    const isSameBoot = memory.bootId === undefined || memory.bootId === bootId;
    if (isSameBoot) await this.#files.awaitTaken(unendedOf(memory), clock);
    // From here on neither a lane nor a launcher of an earlier life begins a run.
    remover.remove(spareDirectory);
    await logs.closeEarlier(clock);
    for (const [key, { terms, stop, ended }] of memory.runs) {
      if (ended === undefined)
        this.#resume(this.#add(key, terms, this.#unknown(), stop), isSameBoot);
      else this.#addEnded(key, terms, ended);
    }
    this.#recoverStrays();
    this.#ledger.open(createJournal(directory, this.#summary()));
    this.#watch.look();
    this.#groups.recover(new Set(Array.from(this.#active, ({ id }) => runKey(id))));
    this.#survivors.ended(false); // of runs that ended while no agent was there
  }

  start(request: RunRequest): void {
    const key = runKey(request.id);
    if (this.#runs.has(key) || this.#closed) return;
    const directory = this.#files.directoryOf(key);
    if (this.#kept.remove(key)) this.#options.remover.remove(directory);
    const group = this.#groups.planOf(key, request.needs);
    const terms = termsOf(request, this.#options.clock.nowMs(), group?.terms);
    const run = this.#add(key, terms, { kind: "told" }, undefined);
    this.#ledger.note({ kind: "started", key, terms });
    const isFull = this.#runs.size > limits.runsPerAgentMax;
    const fault = isFull ? "the agent has too many runs" : this.#disk.fault();
    if (fault !== undefined) return this.#end(run, { kind: "node-fault", message: fault });
    try {
      const launch = launchOf(request, { ...this.#options, directory, group });
      this.#ledger.after((failure) => this.#launch(run, launch, failure));
    } catch (error) {
      this.#end(run, { kind: "could-not-start", message: describeChain(error) });
    }
  }

  stop(id: RunId): void {
    const run = this.#runs.get(runKey(id));
    if (run === undefined || run.state.kind !== "running" || run.state.stop !== undefined) return;
    // What has already ended by itself is not stopped: we are about to hear of it.
    if (this.#files.read(runKey(id))?.outcome !== undefined) return;
    this.#beginStop(run, "stopped");
  }

  forget(id: RunId): void {
    const key = runKey(id);
    const run = this.#runs.get(key);
    if (run === undefined || run.state.kind !== "ended") return;
    const { outputLimitBytes } = run.terms;
    const isClean = run.left?.isClean ?? false;
    const hasFiles = run.left?.hasFiles ?? true;
    const atMs = this.#options.clock.nowMs();
    const directory = this.#files.pathOf(key);
    this.#options.logs.release(key, directory);
    const bytes = bytesOf(run) ?? outputBytes(directory);
    this.#runs.delete(key);
    const isEmpty = !hasFiles || (isClean && bytes === 0);
    this.#kept.add(key, { forgottenAtMs: atMs, bytes, outputLimitBytes, isClean, isEmpty });
    this.#ledger.note({ kind: "forgotten", key, atMs, bytes, outputLimitBytes });
    // No output is read the same without a file. The rest of what is clean stays as it is.
    if (isEmpty && hasFiles) this.#ledger.after(() => this.#files.discard(directory, true));
    else if (!isEmpty && !isClean) this.#options.remover.removeWork(directory);
    this.#removeSurplus(atMs);
    this.#ledger.compact(this.#runs.size + this.#kept.size, () => this.#summary());
  }

  known(): ReturnType<Executor["known"]> {
    return knownOf(this.#runs.values());
  }

  queued(): readonly RunId[] {
    return queuedOf(this.#runs.values());
  }

  onReport(listener: Listener): void {
    this.#listeners.push(listener);
  }

  readOutput: Executor["readOutput"] = (id, stream, how) =>
    this.#outputs.read(runKey(id), stream, how);

  /** Writes down anew all that is known: entries may have been lost with the disk. */
  rewriteJournal = (): void => this.#ledger.rewrite(this.#summary());

  /** Stops watching. False when it had been called before. */
  close(): boolean {
    if (this.#closed) return false;
    this.#ledger.close();
    this.#closed = true;
    this.#watch.stop();
    this.#survivors.close();
    this.#groups.close();
    this.#outputs.close();
    return true;
  }

  #add(key: string, terms: RunTerms, wrapper: Wrapper, stop: Stop | undefined): Run {
    const state = { kind: "running", wrapper, stop } as const;
    const hasBegun = wrapper.kind !== "told";
    const run: Run = { id: idOf(key), terms, hasBegun, state, left: undefined };
    this.#runs.set(key, run);
    this.#active.add(run);
    return run;
  }

  #addEnded(key: string, terms: RunTerms, report: Extract<RunReport, { kind: "ended" }>): void {
    const state = { kind: "ended", report } as const;
    this.#runs.set(key, { id: idOf(key), terms, hasBegun: true, state, left: undefined });
  }

  #unknown(): Wrapper {
    return { kind: "unknown", sinceMs: this.#options.clock.nowMs() };
  }

  #launch(run: Run, launch: Launch, failure: AppError | undefined): void {
    if (failure !== undefined) {
      const message = describeOwnFault(failure, this.#options.directory);
      return this.#end(run, { kind: "node-fault", message });
    }
    if (run.state.kind !== "running") return;
    if (run.state.stop !== undefined) {
      this.#lookUp(run, "it was stopped"); // before it was handed to the starter
      return;
    }
    const message = this.#groups.create(launch);
    if (message !== undefined) return this.#end(run, { kind: "node-fault", message });
    this.#options.starter.start(
      launch,
      (gone) => this.#onGone(run, gone),
      (atMs) => this.#onStarted(run, atMs),
    );
    this.#watch.begin(run);
  }

  #onStarted(run: Run, atMs: number | undefined): void {
    if (run.state.kind !== "running") return;
    if (atMs !== undefined) run.terms = { ...run.terms, startedAtMs: atMs };
    if (run.hasBegun) return;
    run.hasBegun = true;
    run.begunAt = performance.now();
    const key = runKey(run.id);
    // Native launchers have it in their records.
    if (!this.#options.logs.has(key))
      this.#ledger.note({ kind: "begun", key, atMs: run.terms.startedAtMs });
    this.#tell(run);
    this.#watch.begin(run);
  }

  /** The starter tells what became of a launch. */
  #onGone(run: Run, gone: Gone): void {
    if (run.state.kind !== "running") return;
    if (gone.kind === "could-not-start" || gone.kind === "node-fault") {
      this.#end(run, gone);
    } else if (gone.kind === "gone") {
      this.#lookUp(run, gone.how);
    } else {
      const { outcome, usage } = gone;
      const { stop } = run.state;
      // A stop may have been marked after the lane had looked: the next run would find the mark.
      run.left = { ...gone, isClean: gone.isClean && stop === undefined };
      if (stop !== undefined && hasRun(outcome)) {
        this.#lookUp(run, "it ended");
      } else {
        this.#end(run, endOfRun(this.#about(run, outcome), stop), gone.endedAtMs, usage);
      }
    }
  }

  /** The run has ended, or has a wrapper that is not ours to hear of. */
  #lookUp(run: Run, how: string): void {
    invariant(run.state.kind === "running", "only a running run is looked up");
    const { stop } = run.state;
    const file = this.#files.read(runKey(run.id));
    if (file?.session !== undefined) this.#onStarted(run, file.startedAtMs);
    if (file === undefined) {
      const end = neverBegan(this.#files.directoryOf(runKey(run.id)), how);
      this.#end(run, stop === undefined ? end : endOfRun(this.#about(run, undefined), stop));
    } else if (file.outcome !== undefined) {
      this.#onWrapperGone(run, file);
    } else {
      this.#adopt(run, file);
      this.#watch.checkWrapper(run, this.#options.clock.nowMs());
    }
  }

  /** Looks after a run of whose end nobody will tell us. */
  #adopt(run: Run, file: StateFile): void {
    invariant(run.state.kind === "running", "only a running run is adopted");
    const wrapper =
      file.wrapper === undefined
        ? ({ kind: "unknown", sinceMs: file.writtenAtMs } as const)
        : ({ kind: "adopted", identities: wrappersOf(file) } as const);
    run.state = { ...run.state, wrapper };
    if (file.session !== undefined) this.#onStarted(run, file.startedAtMs);
    this.#watch.lookSoon();
  }

  /** A run of an earlier life, of which only the journal is known. */
  #resume(run: Run, isSameBoot: boolean): void {
    invariant(run.state.kind === "running", "a resumed run has not ended");
    if (this.#files.takeUnbegun(runKey(run.id))) {
      this.#active.delete(run);
      if (run.state.stop === undefined) this.#runs.delete(runKey(run.id)); // start may be asked again
      else this.#end(run, { kind: run.state.stop.cause, signal: undefined });
    } else {
      this.#findAgain(run, isSameBoot);
    }
  }

  /** False when no wrapper has taken the run. */
  #findAgain(run: Run, isSameBoot = true): boolean {
    const file = this.#files.read(runKey(run.id));
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

  /** Runs without an entry, after a journal was lost: those alive must not be forgotten. */
  #recoverStrays(): void {
    for (const key of this.#files.findStrays((key) => this.#runs.has(key) || this.#kept.has(key))) {
      const terms = strayTerms(this.#options.clock.nowMs(), this.#groups.find(key));
      this.#findAgain(this.#add(key, terms, this.#unknown(), undefined));
    }
  }

  #beginStop(run: Run, cause: StopCause): void {
    invariant(run.state.kind === "running", "only a running run is stopped");
    const key = runKey(run.id);
    const nowMs = this.#options.clock.nowMs();
    const killAtMs = nowMs + run.terms.killGraceMs;
    this.#ledger.note({ kind: "stopping", key, cause, killAtMs });
    run.state = { ...run.state, stop: { cause, killAtMs, sent: undefined } };
    this.#ledger.after(() => this.#markStop(run)); // stops of one go are written together
  }

  #markStop(run: Run): void {
    if (run.state.kind === "ended") return;
    const key = runKey(run.id);
    try {
      if (!this.#options.starter.cancel(key)) this.#files.markStopping(key);
    } catch (error) {
      this.#options.logger.warn({ run: key, error: describeChain(error) }, "could not mark a stop");
    }
    this.#watch.lookSoon();
  }

  /** The wrapper of a run is gone for good; it had taken the run. */
  #onWrapperGone(run: Run, file: StateFile): void {
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

  #endAsLeft(run: Run, file: StateFile, vanished: string): void {
    invariant(run.state.kind !== "ended", "a run ends once");
    const end = endOfRun(this.#about(run, file.outcome, vanished), run.state.stop);
    const endedAtMs = file.outcome === undefined ? this.#options.clock.nowMs() : file.writtenAtMs;
    this.#end(run, end, endedAtMs, file.usage);
  }

  #about({ terms }: Run, outcome: CommandOutcome | undefined, vanished = ""): Outcome {
    return { terms, directory: this.#options.directory, outcome, vanished };
  }

  #end(run: Run, end: RunEnd, endedAtMs = this.#options.clock.nowMs(), measured?: Usage): void {
    if (run.state.kind === "ended") return;
    const key = runKey(run.id);
    const { outputLimitBytes, group } = run.terms;
    const isShort = run.left?.outputBytes.every((bytes) => bytes <= outputLimitBytes);
    if (isShort !== true) cutOutput(this.#files.directoryOf(key), outputLimitBytes);
    const report = endReportOf(run, this.#groups.judge(end, group), endedAtMs, measured);
    this.#ledger.note({ kind: "ended", key, report });
    run.state = { kind: "ended", report };
    this.#active.delete(run);
    this.#outputs.ended(key);
    if (group !== undefined) this.#groups.ended(group.path);
    else if (run.hasBegun) this.#survivors.ended(this.#options.logs.has(key));
    this.#ledger.after(() => this.#tell(run));
  }

  #tell(run: Run): void {
    for (const listener of this.#listeners) listener(run.id, reportOf(run));
  }

  #removeSurplus(nowMs: number): number | undefined {
    for (const [key, kept] of this.#kept.takeSurplus(nowMs)) {
      this.#ledger.note({ kind: "removed", key });
      this.#files.discardKept(key, kept);
    }
    return this.#kept.nextSurplusAtMs();
  }

  #summary(): Iterable<JournalEntry> {
    return summarise(this.#options.bootId, this.#runs, this.#kept);
  }
}
