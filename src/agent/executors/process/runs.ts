import { readdirSync } from "node:fs";
import { join } from "node:path";

import { AppError, describeChain } from "../../../lib/errors.ts";
import { invariant } from "../../../lib/invariant.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Executor, RunEnd, RunId, RunReport, RunRequest } from "../../../ports/executor.ts";
import type { Logger } from "../../../ports/logger.ts";
import { isAlive } from "../../proc.ts";
import { endOf } from "./end.ts";
import type { JournalEntry } from "./journal-entry.ts";
import { createJournal, readJournal } from "../../runs/journal.ts";
import type { KeptBounds } from "../../runs/kept-outputs.ts";
import { KeptOutputs } from "../../runs/kept-outputs.ts";
import { launchOf, termsOf } from "./launch.ts";
import { Ledger } from "../../runs/ledger.ts";
import type { OutputSource } from "../../runs/output-reader.ts";
import { OutputReader, readFrom } from "../../runs/output-reader.ts";
import { cutOutput, outputBytes } from "../../runs/output.ts";
import type { Memory } from "./recover.ts";
import { recall, summarise } from "./recover.ts";
import type { Remover } from "../../runs/remover.ts";
import type { Run, RunTerms, Stop, StopCause, Wrapper } from "./run.ts";
import { reportOf, STRAY_TERMS } from "./run.ts";
import { idOf, parseRunKey, runKey } from "../../runs/run-key.ts";
import { linuxSessions } from "./sessions.ts";
import type { Gone, Launch, ProcessStarter } from "./starter.ts";
import type { StateFile } from "./state-file.ts";
import { awaitWrappers, markStopping, readStateFile, takeFromWrappers } from "./state-file.ts";
import { Watch } from "./watch.ts";

type Listener = Parameters<Executor["onReport"]>[0];

export interface RunsOptions {
  readonly directory: string;
  /** What lanes prepare: see PoolStarter. */
  readonly spareDirectory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly bootId: string;
  readonly starter: ProcessStarter;
  readonly remover: Remover;
  readonly keptBounds: KeptBounds;
}

const RESTARTED = "the machine was restarted";
const SHELL_DIED = "the shell over the process died and left no exit code";

/** The runs of one process executor: their states, and the steps between them. */
export class Runs {
  readonly #options: RunsOptions;
  readonly #runs = new Map<string, Run>();
  readonly #active = new Set<Run>(); // those of #runs that have not ended
  readonly #kept: KeptOutputs;
  readonly #outputs: OutputReader;
  readonly #watch: Watch;
  readonly #listeners: Listener[] = [];
  readonly #ledger: Ledger<JournalEntry>;
  #closed = false;

  constructor(options: RunsOptions) {
    this.#options = options;
    this.#ledger = new Ledger(options.logger);
    this.#kept = new KeptOutputs(options.keptBounds);
    this.#outputs = new OutputReader(options.clock, (key, stream, how) =>
      readFrom(this.#sourceOf(key), stream, how),
    );
    this.#watch = new Watch({
      clock: options.clock,
      active: this.#active,
      directoryOf: (key) => this.#directoryOf(key),
      onWrapperKnown: (run, file) => this.#adopt(run, file),
      onWrapperGone: (run, file) => this.#onWrapperGone(run, file),
      onTimeLimit: (run) => this.#beginStop(run, "time-limit"),
      onDeserted: (run, file) => this.#endAsLeft(run, file, SHELL_DIED),
      alsoAt: (nowMs) => this.#removeSurplus(nowMs),
    });
  }

  /** Finds what earlier lives left. Called once, before anything else. */
  async recover(): Promise<void> {
    const { directory, spareDirectory, bootId, logger, remover } = this.#options;
    const { entries, damaged } = readJournal(directory);
    if (damaged > 0) logger.warn({ damaged }, "left out damaged lines of the journal");
    const memory = recall(entries as JournalEntry[], this.#kept);
    const isSameBoot = memory.bootId === undefined || memory.bootId === bootId;
    if (isSameBoot) await this.#awaitWrappers(memory);
    remover.remove(spareDirectory); // from here on no lane of an earlier life takes a run
    for (const [key, { terms, stop, ended }] of memory.runs) {
      if (ended === undefined)
        this.#resume(this.#add(key, terms, this.#unknown(), stop), isSameBoot);
      else this.#addEnded(key, terms, ended);
    }
    this.#recoverStrays();
    this.#ledger.open(createJournal(directory, this.#summary()));
    this.#watch.look();
  }

  start(request: RunRequest): void {
    const key = runKey(request.id);
    if (this.#runs.has(key) || this.#closed) return;
    const directory = this.#directoryOf(key);
    if (this.#kept.remove(key)) this.#options.remover.remove(directory);
    const terms = termsOf(request, this.#options.clock.nowMs());
    const run = this.#add(key, terms, { kind: "told" }, undefined);
    this.#ledger.note({ kind: "started", key, terms });
    try {
      if (this.#runs.size > limits.runsPerAgentMax) throw new Error("the agent has too many runs");
      const launch = launchOf(request, directory);
      this.#ledger.after((failure) => this.#launch(run, launch, failure));
    } catch (error) {
      this.#end(run, { kind: "could-not-start", message: describeChain(error) });
    }
  }

  stop(id: RunId): void {
    const run = this.#runs.get(runKey(id));
    if (run === undefined || run.state.kind !== "running" || run.state.stop !== undefined) return;
    // What has already ended by itself is not stopped: we are about to hear of it.
    if (readStateFile(this.#directoryOf(runKey(id)))?.outcome !== undefined) return;
    this.#beginStop(run, "stopped");
  }

  forget(id: RunId): void {
    const key = runKey(id);
    const run = this.#runs.get(key);
    if (run === undefined || run.state.kind !== "ended") return;
    const directory = this.#directoryOf(key);
    const { outputLimitBytes } = run.terms;
    const isClean = run.left?.isClean ?? false;
    const atMs = this.#options.clock.nowMs();
    const bytes = bytesOf(run) ?? outputBytes(directory);
    this.#runs.delete(key);
    this.#kept.add(key, { forgottenAtMs: atMs, bytes, outputLimitBytes, isClean });
    this.#ledger.note({ kind: "forgotten", key, atMs, bytes, outputLimitBytes });
    // No output is read the same without a file. The rest of what is clean stays as it is.
    if (isClean && bytes === 0) this.#ledger.after(() => this.#discard(directory, true));
    else if (!isClean) this.#options.remover.removeWork(directory);
    this.#removeSurplus(atMs);
    this.#ledger.compact(this.#runs.size + this.#kept.size, () => this.#summary());
  }

  known(): ReturnType<Executor["known"]> {
    return Array.from(this.#runs.values(), (run) => ({ id: run.id, report: reportOf(run) }));
  }

  onReport(listener: Listener): void {
    this.#listeners.push(listener);
  }

  readOutput: Executor["readOutput"] = (id, stream, how) =>
    this.#outputs.read(runKey(id), stream, how);

  /** Stops watching. False when it had been called before. */
  close(): boolean {
    if (this.#closed) return false;
    this.#ledger.close();
    this.#closed = true;
    this.#watch.stop();
    this.#outputs.close();
    return true;
  }

  #directoryOf(key: string): string {
    return join(this.#options.directory, "runs", key);
  }

  #sourceOf(key: string): OutputSource {
    const run = this.#runs.get(key);
    const directory = this.#directoryOf(key);
    if (run !== undefined) {
      const hasEnded = run.state.kind === "ended";
      return { directory, limitBytes: run.terms.outputLimitBytes, hasEnded };
    }
    const kept = this.#kept.get(key);
    if (kept !== undefined) return { directory, limitBytes: kept.outputLimitBytes, hasEnded: true };
    throw new AppError("not_found", `no output of run ${key} on this node`);
  }

  #add(key: string, terms: RunTerms, wrapper: Wrapper, stop: Stop | undefined): Run {
    const state = { kind: "running", wrapper, stop } as const;
    const run: Run = { id: idOf(key), terms, state, left: undefined };
    this.#runs.set(key, run);
    this.#active.add(run);
    return run;
  }

  #addEnded(key: string, terms: RunTerms, report: Extract<RunReport, { kind: "ended" }>): void {
    const state = { kind: "ended", report } as const;
    this.#runs.set(key, { id: idOf(key), terms, state, left: undefined });
  }

  #unknown(): Wrapper {
    return { kind: "unknown", sinceMs: this.#options.clock.nowMs() };
  }

  #launch(run: Run, launch: Launch, failure: AppError | undefined): void {
    if (failure !== undefined) {
      this.#end(run, { kind: "could-not-start", message: describeChain(failure) });
      return;
    }
    this.#options.starter.start(launch, (gone) => this.#onGone(run, gone));
    this.#tell(run);
    this.#watch.begin(run);
  }

  /** The starter tells what became of a launch. */
  #onGone(run: Run, gone: Gone): void {
    if (run.state.kind !== "running") return;
    if (gone.kind === "could-not-start") {
      this.#end(run, { kind: "could-not-start", message: gone.message });
    } else if (gone.kind === "gone") {
      this.#lookUp(run, gone.how);
    } else {
      const { outcome } = gone;
      const { stop } = run.state;
      // A stop may have been marked after the lane had looked: the next run would find the mark.
      run.left = { ...gone, isClean: gone.isClean && stop === undefined };
      if (stop !== undefined) this.#lookUp(run, "it ended");
      else this.#end(run, endOf(outcome, undefined, { program: run.terms.program, vanished: "" }));
    }
  }

  /** The run has ended, or has a wrapper that is not ours to hear of. */
  #lookUp(run: Run, how: string): void {
    invariant(run.state.kind === "running", "only a running run is looked up");
    const { stop } = run.state;
    const file = readStateFile(this.#directoryOf(runKey(run.id)));
    if (file === undefined) {
      const message = `the wrapper ended before it began: ${how}`;
      const names = { program: run.terms.program, vanished: message };
      const never: RunEnd = { kind: "could-not-start", message };
      this.#end(run, stop === undefined ? never : endOf(undefined, stop, names));
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
        : ({ kind: "adopted", identity: file.wrapper } as const);
    run.state = { ...run.state, wrapper };
    this.#watch.lookSoon();
  }

  async #awaitWrappers({ runs }: Memory): Promise<void> {
    const directories: string[] = [];
    for (const [key, { ended }] of runs) {
      if (ended === undefined) directories.push(this.#directoryOf(key));
    }
    await awaitWrappers(directories, this.#options.clock);
  }

  /** A run of an earlier life, of which only the journal is known. */
  #resume(run: Run, isSameBoot: boolean): void {
    invariant(run.state.kind === "running", "a resumed run has not ended");
    const key = runKey(run.id);
    const directory = this.#directoryOf(key);
    if (takeFromWrappers(directory)) {
      this.#options.remover.remove(directory);
      if (run.state.stop === undefined) this.#drop(run); // it never ran: start may be asked again
      else this.#end(run, { kind: run.state.stop.cause, signal: undefined });
    } else {
      this.#findAgain(run, directory, isSameBoot);
    }
  }

  /** False when no wrapper has taken the run. */
  #findAgain(run: Run, directory: string, isSameBoot = true): boolean {
    const file = readStateFile(directory);
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
    const { clock, remover } = this.#options;
    for (const name of readdirSync(this.#directoryOf(""))) {
      if (this.#runs.has(name) || this.#kept.get(name) !== undefined) continue;
      const directory = this.#directoryOf(name);
      const wrapper = parseRunKey(name) && readStateFile(directory)?.wrapper;
      if (wrapper === undefined || !isAlive(wrapper)) {
        remover.remove(directory);
        continue;
      }
      const terms = { ...STRAY_TERMS, startedAtMs: clock.nowMs() };
      this.#findAgain(this.#add(name, terms, this.#unknown(), undefined), directory);
    }
  }

  #beginStop(run: Run, cause: StopCause): void {
    invariant(run.state.kind === "running", "only a running run is stopped");
    const key = runKey(run.id);
    const nowMs = this.#options.clock.nowMs();
    const killAtMs = nowMs + run.terms.killGraceMs;
    this.#ledger.note({ kind: "stopping", key, cause, killAtMs });
    this.#ledger.write();
    try {
      markStopping(this.#directoryOf(key));
    } catch (error) {
      this.#options.logger.warn({ run: key, error: describeChain(error) }, "could not mark a stop");
    }
    run.state = { ...run.state, stop: { cause, killAtMs, sent: undefined } };
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
    if (file.outcome === undefined && session !== undefined) linuxSessions.killOrphans([session]);
    this.#endAsLeft(run, file, SHELL_DIED);
  }

  #endAsLeft(run: Run, file: StateFile, vanished: string): void {
    invariant(run.state.kind !== "ended", "a run ends once");
    const names = { program: run.terms.program, vanished };
    const end = endOf(file.outcome, run.state.stop, names);
    const endedAtMs = file.outcome === undefined ? this.#options.clock.nowMs() : file.writtenAtMs;
    this.#end(run, end, endedAtMs);
  }

  #end(run: Run, end: RunEnd, endedAtMs = this.#options.clock.nowMs()): void {
    if (run.state.kind === "ended") return;
    const key = runKey(run.id);
    const { outputLimitBytes } = run.terms;
    const isShort = run.left?.outputBytes.every((bytes) => bytes <= outputLimitBytes);
    if (isShort !== true) cutOutput(this.#directoryOf(key), outputLimitBytes);
    const startedAtMs = end.kind === "could-not-start" ? undefined : run.terms.startedAtMs;
    const atMs = Math.max(endedAtMs, run.terms.startedAtMs); // clocks may be set back
    const report = { kind: "ended", startedAtMs, endedAtMs: atMs, end } as const;
    this.#ledger.note({ kind: "ended", key, report });
    run.state = { kind: "ended", report };
    this.#active.delete(run);
    this.#outputs.ended(key);
    this.#ledger.after(() => this.#tell(run));
  }

  #drop(run: Run): void {
    this.#runs.delete(runKey(run.id));
    this.#active.delete(run);
  }

  #tell(run: Run): void {
    for (const listener of this.#listeners) listener(run.id, reportOf(run));
  }

  #removeSurplus(nowMs: number): number | undefined {
    for (const [key, { bytes, isClean = false }] of this.#kept.takeSurplus(nowMs)) {
      this.#ledger.note({ kind: "removed", key });
      this.#discard(this.#directoryOf(key), isClean && bytes <= limits.spareBytesMax);
    }
    return this.#kept.nextSurplusAtMs();
  }

  #discard(directory: string, canBeRecycled: boolean): void {
    const { starter, remover } = this.#options;
    if (!canBeRecycled || !starter.recycle(directory)) remover.remove(directory);
  }

  #summary(): Iterable<JournalEntry> {
    return summarise(this.#options.bootId, this.#runs, this.#kept);
  }
}

function bytesOf({ left, terms }: Run): number | undefined {
  if (left === undefined) return undefined;
  const [stdout, stderr] = left.outputBytes;
  const max = terms.outputLimitBytes + 1; // see cutOutput
  return Math.min(stdout, max) + Math.min(stderr, max);
}
