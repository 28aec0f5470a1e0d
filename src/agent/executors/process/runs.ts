import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { AppError, describeChain } from "../../../lib/errors.ts";
import { invariant } from "../../../lib/invariant.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Executor, RunEnd, RunId, RunRequest } from "../../../ports/executor.ts";
import type { Logger } from "../../../ports/logger.ts";
import { isAlive } from "../../proc.ts";
import { endOf } from "./end.ts";
import type { Journal, JournalEntry } from "./journal.ts";
import { createJournal, readJournal } from "./journal.ts";
import type { KeptBounds } from "./kept-outputs.ts";
import { KeptOutputs } from "./kept-outputs.ts";
import { makeDirectory, prepareLaunch, termsOf } from "./launch.ts";
import type { OutputSource } from "./output-reader.ts";
import { OutputReader } from "./output-reader.ts";
import { cutOutput, outputBytes } from "./output.ts";
import type { Memory } from "./recover.ts";
import { recall, summarise } from "./recover.ts";
import type { Remover } from "./remover.ts";
import type { Run, RunTerms, Stop, StopCause } from "./run.ts";
import { idOf, parseRunKey, reportOf, runKey, STRAY_TERMS } from "./run.ts";
import { linuxSessions } from "./sessions.ts";
import type { Gone, ProcessStarter } from "./starter.ts";
import type { StateFile } from "./state-file.ts";
import { awaitWrappers, readStateFile, takeFromWrappers } from "./state-file.ts";
import { Watch } from "./watch.ts";

type Listener = Parameters<Executor["onReport"]>[0];

export interface RunsOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly bootId: string;
  readonly starter: ProcessStarter;
  readonly remover: Remover;
  readonly keptBounds: KeptBounds;
  readonly baseEnv: Readonly<Record<string, string>>;
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
  #journal: Journal | undefined; // undefined while recovering: the new one is written at the end
  #closed = false;

  constructor(options: RunsOptions) {
    this.#options = options;
    this.#kept = new KeptOutputs(options.keptBounds);
    this.#outputs = new OutputReader(options.clock, (key) => this.#sourceOf(key));
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
    const { directory, bootId, logger } = this.#options;
    const { entries, damaged } = readJournal(directory);
    if (damaged > 0) logger.warn({ damaged }, "left out damaged lines of the journal");
    const memory = recall(entries, this.#kept);
    const isSameBoot = memory.bootId === undefined || memory.bootId === bootId;
    if (isSameBoot) await this.#awaitWrappers(memory);
    for (const [key, { terms, stop, ended }] of memory.runs) {
      if (ended === undefined) this.#resume(this.#add(key, terms, stop), isSameBoot);
      else this.#runs.set(key, { id: idOf(key), terms, state: { kind: "ended", report: ended } });
    }
    this.#recoverStrays();
    this.#journal = createJournal(directory, summarise(bootId, this.#runs, this.#kept));
    this.#watch.look();
  }

  start(request: RunRequest): void {
    const key = runKey(request.id);
    if (this.#runs.has(key) || this.#closed) return;
    this.#kept.remove(key);
    const run = this.#add(key, termsOf(request, this.#options.clock.nowMs()), undefined);
    try {
      if (this.#runs.size > limits.runsPerAgentMax) throw new Error("the agent has too many runs");
      this.#write({ kind: "started", key, terms: run.terms });
      const directory = this.#directoryOf(key);
      if (!makeDirectory(directory)) {
        if (this.#findAgain(run, directory)) {
          if (run.state.kind !== "ended") this.#emit(run);
          return;
        }
        this.#options.remover.remove(directory); // of a forgotten run
        makeDirectory(directory);
      }
      this.#launch(run, prepareLaunch(request, directory, this.#options.baseEnv));
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
    const atMs = this.#options.clock.nowMs();
    const bytes = outputBytes(directory);
    this.#runs.delete(key);
    this.#kept.add(key, { forgottenAtMs: atMs, bytes, outputLimitBytes });
    this.#tryWrite({ kind: "forgotten", key, atMs, bytes, outputLimitBytes });
    this.#options.remover.removeWork(directory);
    this.#removeSurplus(atMs);
    if (this.#journal?.isOvergrown(this.#runs.size + this.#kept.size)) this.#rewriteJournal();
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
    this.#closed = true;
    this.#watch.stop();
    this.#outputs.close();
    this.#journal?.close();
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

  #add(key: string, terms: RunTerms, stop: Stop | undefined): Run {
    const wrapper = { kind: "unknown", sinceMs: this.#options.clock.nowMs() } as const;
    const run: Run = { id: idOf(key), terms, state: { kind: "running", wrapper, stop } };
    this.#runs.set(key, run);
    this.#active.add(run);
    return run;
  }

  #launch(run: Run, launch: Parameters<ProcessStarter["start"]>[0]): void {
    const pid = this.#options.starter.start(launch, (gone) => this.#onGone(run, pid, gone));
    if (pid === undefined) return; // told by onGone
    run.state = { kind: "running", wrapper: { kind: "child", pid }, stop: undefined };
    this.#emit(run);
    this.#watch.begin(run);
  }

  /** Our child is gone: the run has ended, or another wrapper of an earlier life had taken it. */
  #onGone(run: Run, pid: number | undefined, gone: Gone): void {
    if (run.state.kind !== "running") return;
    const { stop } = run.state;
    const file = readStateFile(this.#directoryOf(runKey(run.id)));
    if (gone.kind === "could-not-start") {
      this.#end(run, { kind: "could-not-start", message: gone.message });
    } else if (file === undefined) {
      const message = `the shell ended before it began: ${gone.how}`;
      const names = { program: run.terms.program, vanished: message };
      const never: RunEnd = { kind: "could-not-start", message };
      this.#end(run, stop === undefined ? never : endOf(undefined, stop, names));
    } else if (file.wrapper?.pid === pid) {
      this.#onWrapperGone(run, file);
    } else {
      this.#adopt(run, file);
    }
  }

  /** Looks after a run whose wrapper is not our child. */
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
      this.#findAgain(this.#add(name, terms, undefined), directory);
    }
  }

  #beginStop(run: Run, cause: StopCause): void {
    invariant(run.state.kind === "running", "only a running run is stopped");
    const key = runKey(run.id);
    const nowMs = this.#options.clock.nowMs();
    const killAtMs = nowMs + run.terms.killGraceMs;
    this.#tryWrite({ kind: "stopping", key, cause, killAtMs });
    try {
      // Tells the wrapper to leave the rest of its group to us, and not to begin any more.
      writeFileSync(join(this.#directoryOf(key), "stopping"), "");
    } catch (error) {
      this.#options.logger.warn({ run: key, error: describeChain(error) }, "could not mark a stop");
    }
    run.state = { ...run.state, stop: { cause, killAtMs, sent: undefined } };
    this.#watch.lookSoon();
  }

  /** The wrapper of a run is gone for good; it had taken the run. */
  #onWrapperGone(run: Run, file: StateFile): void {
    invariant(run.state.kind === "running", "a wrapper is gone once");
    const session = file.wrapper?.pid;
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
    this.#end(run, end, Math.max(endedAtMs, run.terms.startedAtMs));
  }

  #end(run: Run, end: RunEnd, endedAtMs = this.#options.clock.nowMs()): void {
    if (run.state.kind === "ended") return;
    const key = runKey(run.id);
    cutOutput(this.#directoryOf(key), run.terms.outputLimitBytes);
    const startedAtMs = end.kind === "could-not-start" ? undefined : run.terms.startedAtMs;
    const report = { kind: "ended", startedAtMs, endedAtMs, end } as const;
    this.#tryWrite({ kind: "ended", key, report });
    run.state = { kind: "ended", report };
    this.#active.delete(run);
    this.#outputs.ended(key);
    this.#emit(run);
  }

  #drop(run: Run): void {
    this.#runs.delete(runKey(run.id));
    this.#active.delete(run);
  }

  #emit(run: Run): void {
    for (const listener of this.#listeners) listener(run.id, reportOf(run));
  }

  #removeSurplus(nowMs: number): number | undefined {
    for (const key of this.#kept.takeSurplus(nowMs)) {
      this.#tryWrite({ kind: "removed", key });
      this.#options.remover.remove(this.#directoryOf(key));
    }
    return this.#kept.nextSurplusAtMs();
  }

  #rewriteJournal(): void {
    try {
      this.#journal?.rewrite(summarise(this.#options.bootId, this.#runs, this.#kept));
    } catch (error) {
      this.#options.logger.error({ error: describeChain(error) }, "could not rewrite the journal");
    }
  }

  #write(entry: JournalEntry): void {
    this.#journal?.append(entry);
  }

  /** For what has happened, or must: a full disk does not undo it. */
  #tryWrite(entry: JournalEntry): void {
    try {
      this.#write(entry);
    } catch (error) {
      this.#options.logger.error({ error: describeChain(error), entry }, "journal entry lost");
    }
  }
}
