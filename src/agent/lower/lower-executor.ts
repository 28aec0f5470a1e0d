import { readdirSync } from "node:fs";
import { join } from "node:path";

import { AppError, describeChain } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Executor, QueuedRuns, RunId, RunRequest } from "../../ports/executor.ts";
import type { Logger } from "../../ports/logger.ts";
import { readBootId } from "../proc.ts";
import type { KeptBounds } from "../runs/ledger/kept-outputs.ts";
import { KEPT_BOUNDS } from "../runs/ledger/kept-outputs.ts";
import { lockDirectory } from "../runs/lock.ts";
import { OutputReader } from "../runs/output-reader.ts";
import { cutOutput, outputBytes } from "../runs/output.ts";
import type { Remover } from "../runs/remover.ts";
import { createRemover } from "../runs/remover.ts";
import { runKey } from "../runs/run-key.ts";
import { placed } from "../runs/place/placed.ts";
import { checkWorkingDirectory } from "../runs/place/surroundings.ts";
import { LowerLedger } from "./lower-ledger.ts";
import type { Piece } from "./wrapper/joined-output.ts";
import { readJoined } from "./wrapper/joined-output.ts";
import { PartFiles } from "./wrapper/part-files.ts";
import type { ToSteps } from "./plan-run.ts";
import { planRun, termsOf } from "./plan-run.ts";
import type { Part, LowerRun } from "./run.ts";
import { makeRun } from "./run.ts";
import type { LowerScheduler } from "./scheduler.ts";
import { SchedulerRounds } from "./scheduler-rounds.ts";

export interface LowerExecutorOptions {
  /**
   * Holds the journal, the runs and their output. One executor at a time. The nodes of the cluster
   * must see it under the same path.
   */
  readonly directory: string;
  readonly scheduler: LowerScheduler;
  /** How a jobspec becomes jobs. */
  readonly toSteps: ToSteps;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly bootId?: string;
  readonly keptBounds?: KeptBounds | undefined;
}

/** Runs work through a scheduler with its own queue. */
export async function createLowerExecutor(options: LowerExecutorOptions): Promise<Executor> {
  const { directory, scheduler } = options;
  const files = new PartFiles(directory);
  const unlock = lockDirectory(directory, options.bootId ?? readBootId());
  try {
    const remover = createRemover(join(directory, "trash"), options.logger);
    const runs = new LowerRuns({ ...options, files, remover, owner: files.owner });
    return {
      name: scheduler.name,
      start: (request) => runs.start(request),
      stop: (id) => runs.stop(id),
      forget: (id) => runs.forget(id),
      known: () => runs.known(),
      queued: () => runs.queued(),
      whyQueued: () => runs.whyQueued(),
      readOutput: (id, stream, how) => runs.readOutput(id, stream, how),
      onReport: (listener) => runs.onReport(listener),
      async close() {
        if (!(await runs.close())) return;
        unlock();
        await remover.idle();
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

interface Options extends LowerExecutorOptions {
  readonly files: PartFiles;
  readonly remover: Remover;
  readonly owner: string;
}

class LowerRuns {
  readonly #options: Options;
  readonly #ledger: LowerLedger;
  readonly #rounds: SchedulerRounds;
  readonly #outputs: OutputReader;
  #nextCutAtMs = 0;
  #isClosed = false;

  constructor(options: Options) {
    const { directory, clock, logger, files, keptBounds = KEPT_BOUNDS } = options;
    this.#options = options;
    this.#ledger = new LowerLedger({
      directory,
      clock,
      logger,
      keptBounds,
      onEnded: (run) => this.#ended(run),
      onRemoved: (key) => options.remover.remove(files.of(key)),
    });
    this.#outputs = new OutputReader(clock, (key, stream, range) => {
      const { pieces, limitBytes } = this.#outputOf(key);
      return readJoined(pieces, stream, range, limitBytes);
    });
    this.#rounds = new SchedulerRounds({
      ...options,
      ledger: this.#ledger,
      alsoAt: (at) => this.#tidy(at),
    });
    this.#removeStrays();
    this.#rounds.wake();
  }

  start(asked: RunRequest): void {
    const key = runKey(asked.id);
    if (!this.#ledger.canAccept(key) || this.#isClosed) return;
    const request = placed(asked, "shared");
    const { clock, files, toSteps } = this.#options;
    const nowMs = clock.nowMs();
    try {
      if (this.#ledger.isFull) throw new Error("the agent has too many runs");
      if (request.cwd !== undefined) checkWorkingDirectory(request.cwd);
      const steps = planRun(request, toSteps);
      files.writeRequest(key, request);
      this.#ledger.accept(request.id, termsOf(request, steps, nowMs));
      this.#rounds.wake(limits.lowerGatherMs);
    } catch (error) {
      this.#refuse(request, describeChain(error));
    }
  }

  #refuse(request: RunRequest, message: string): void {
    const { clock } = this.#options;
    const step = { name: request.name, program: "", after: [], copies: undefined };
    const terms = { ...termsOf(request, [], clock.nowMs()), steps: [step] };
    const run = this.#ledger.accept(request.id, terms);
    for (const part of run.parts.flat()) {
      this.#ledger.endPart(part, { kind: "could-not-start", message });
    }
  }

  stop(id: RunId): void {
    const run = this.#ledger.runs.get(runKey(id));
    if (run === undefined || run.ended !== undefined || run.stop !== undefined) return;
    // A run that has already ended by itself is not stopped: its end will be reported.
    const { files } = this.#options;
    const hasEnded = (part: Part): boolean =>
      part.state.kind === "ended" || files.exitOf(part.key) !== undefined;
    if (run.parts.flat().every(hasEnded)) return;
    this.#ledger.beginStop(run, "stopped");
    this.#rounds.wake();
  }

  forget(id: RunId): void {
    const run = this.#ledger.runs.get(runKey(id));
    if (run?.ended === undefined) return;
    const { files, remover } = this.#options;
    const bytes = partDirectories(run, files).reduce((sum, each) => sum + outputBytes(each), 0);
    this.#ledger.forget(run, bytes);
    remover.removeWork(files.of(run.key));
    this.#removeArrays(run.id.jobId);
    this.#rounds.wake(); // outputs expire
  }

  known(): ReturnType<Executor["known"]> {
    return this.#ledger.known();
  }

  queued(): readonly RunId[] {
    return this.#ledger.queued().map(({ id }) => id);
  }

  whyQueued(): readonly QueuedRuns[] {
    const { name } = this.#options.scheduler;
    const byReason = Map.groupBy(this.#ledger.queued(), (run) => `${name}: ${reasonOf(run)}`);
    return Array.from(byReason, ([reason, runs]) => ({ reason, runs: runs.map(({ id }) => id) }));
  }

  onReport(listener: Parameters<Executor["onReport"]>[0]): void {
    this.#ledger.onReport(listener);
  }

  readOutput: Executor["readOutput"] = (id, stream, how) =>
    this.#outputs.read(runKey(id), stream, how);

  /** False when it was called before. */
  async close(): Promise<boolean> {
    if (this.#isClosed) return false;
    this.#isClosed = true;
    await this.#rounds.close();
    this.#ledger.close();
    this.#outputs.close();
    return true;
  }

  #ended(run: LowerRun): void {
    for (const directory of partDirectories(run, this.#options.files)) {
      cutOutput(directory, run.terms.outputLimitBytes);
    }
    this.#outputs.ended(run.key);
  }

  #outputOf(key: string): { pieces: readonly Piece[]; limitBytes: number } {
    const terms = this.#ledger.termsOf(key);
    if (terms === undefined)
      throw new AppError("not_found", `no output of run ${key}: ${this.#ledger.whyGone(key)}`);
    const known = this.#ledger.runs.get(key);
    const run = known ?? makeRun({ jobId: 0, index: 0, attempt: 0 }, key, terms);
    const parts = run.parts.flat();
    const { files } = this.#options;
    const pieces = parts.map((part) => ({
      directory: files.of(part.key),
      title: parts.length === 1 ? "" : `== ${titleOf(part)}\n`,
      state: pieceState(part, files),
    }));
    return { pieces, limitBytes: terms.outputLimitBytes };
  }

  /** Cuts outputs that are too long, and removes expired ones. */
  #tidy(nowMs: number): number | undefined {
    const surplusAtMs = this.#ledger.removeSurplus(nowMs);
    if (this.#ledger.active.size === 0) return surplusAtMs;
    if (nowMs >= this.#nextCutAtMs) {
      this.#nextCutAtMs = nowMs + limits.outputCheckIntervalMs;
      for (const run of this.#ledger.active) this.#cut(run);
    }
    return Math.min(surplusAtMs ?? Number.POSITIVE_INFINITY, this.#nextCutAtMs);
  }

  #cut(run: LowerRun): void {
    for (const { key, state } of run.parts.flat()) {
      if (state.kind !== "submitted" || !state.isRunning) continue;
      cutOutput(this.#options.files.of(key), run.terms.outputLimitBytes);
    }
  }

  /** Removes files of an earlier process that belong to no known run. */
  #removeStrays(): void {
    const { files, remover } = this.#options;
    for (const name of readdirSync(files.of(""))) {
      if (this.#ledger.termsOf(name) === undefined) remover.remove(files.of(name));
    }
  }

  #removeArrays(jobId: number): void {
    const { files, remover } = this.#options;
    if (!files.hasArrays(jobId)) return;
    for (const { id } of this.#ledger.active) if (id.jobId === jobId) return; // it may still begin
    for (const path of files.takeArrays(jobId)) remover.remove(path);
  }
}

/** The scheduler's reason for the first job of the run that it has. */
function reasonOf(run: LowerRun): string {
  const states = run.parts
    .flat()
    .flatMap(({ state }) => (state.kind === "submitted" ? [state] : []));
  const told = states.find(({ reason }) => reason !== undefined && reason !== "None")?.reason;
  if (told !== undefined) return told;
  return states.length > 0 ? "no reason reported yet" : "it is being submitted";
}

const partDirectories = (run: LowerRun, files: PartFiles): string[] =>
  run.parts.flat().map(({ key }) => files.of(key));

function titleOf({ run, step, copy }: Part): string {
  const name = run.terms.steps[step]?.name ?? "";
  return copy === undefined ? name : `${name}[${copy}]`;
}

/** Dropped runs have only files: parts that ran have claims. */
function pieceState(part: Part, files: PartFiles): Piece["state"] {
  const { state, run } = part;
  const hasEnded = run.ended !== undefined || run.id.jobId === 0 || state.kind === "ended";
  if (hasEnded) {
    const isAlone = run.parts.flat().length === 1; // the scheduler itself may have written there
    return isAlone || files.ownerOf(part.key) !== undefined ? "ended" : "never";
  }
  return state.kind === "submitted" && part.startedAtMs !== undefined ? "running" : "waiting";
}
