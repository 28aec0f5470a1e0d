import { revision as toRevision } from "../../core/model/ids.ts";
import type { JobId, Revision } from "../../core/model/ids.ts";
import type { Change } from "../../core/state/change.ts";
import type { AnswerTo, Command, CommandOf, Decision } from "../../core/state/command.ts";
import { decide } from "../../core/state/decide.ts";
import { fetchNext } from "../../core/state/decide/tasks/held.ts";
import { placeTask } from "../../core/state/decide/tasks/place-task.ts";
import { nextQuarantine } from "../../core/state/decide/nodes/quarantine.ts";
import { nextServiceStep } from "../../core/state/decide/services/step.ts";
import { nextSettlement } from "../../core/state/dependencies/settle.ts";
import { checkMove } from "../../core/state/check-move.ts";
import { isJobEnded } from "../../core/model/progress.ts";
import type { State } from "../../core/state/state.ts";
import { matchWork } from "../../core/graph/match/match-work.ts";
import { AheadRound } from "../../core/scheduler/fetch-ahead.ts";
import { nextPlacement } from "../../core/scheduler/plan.ts";
import { AppError } from "../../lib/errors.ts";
import { invariant } from "../../lib/invariant.ts";
import { limits } from "../../limits.ts";
import { steadyMs } from "../../ports/clock.ts";
import { Folder } from "./folder.ts";
import { LoopMetrics, Refusals } from "./loop-metrics.ts";
import type { LoopOptions } from "./loop-options.ts";
import {
  applyTo,
  noteJob,
  type OpenBatch,
  openBatch,
  toWrites,
  whenDurable,
} from "./open-batch.ts";
import { SliceTurns } from "./slice-turns.ts";

interface Waiting {
  readonly command: Command;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The only writer. Decides commands in order, each against the newest state, applies its changes at once, so that the next command (and the
 * planner) see them, and collects them in the open batch. One batch is flushed at a time; the next one fills meanwhile.
 *
 * Nothing leaves before it is durable: answers, commits (watchers, agents) and reads wait for the revision they depend on. Memory may
 * therefore be ahead of the disk. If a flush fails, the process stops, and no client has seen the lost changes.
 */
export class ControlLoop {
  readonly #options: LoopOptions;
  readonly #state: State;
  readonly #folder: Folder;
  readonly #waiting: Waiting[] = [];
  #head = 0;
  #open: OpenBatch;
  /** Batches being committed, oldest first: the store begins the next without waiting for us. */
  readonly #flushing: OpenBatch[] = [];
  #scheduled = false;
  /** Number of lists that are not complete. */
  readonly #turns: SliceTurns;
  #broken: AppError | undefined = undefined;
  #stopping = false;
  #isStopped = false;
  #durable: Revision;
  readonly metrics: LoopMetrics;
  readonly #refusals: Refusals;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#state = options.state;
    this.metrics = new LoopMetrics((node) => options.state.nodes.get(node)?.node.cluster);
    this.#folder = new Folder(options.state.jobs, options.clock);
    this.#refusals = new Refusals(options.logger, this.metrics);
    this.#turns = new SliceTurns((run) => options.soon(run));
    // Only the store knows the revisions of removed rows; a job's revision may be beyond that of an old store.
    options.state.continueAfter(toRevision(options.store.revision()));
    this.#durable = options.state.revision;
    this.#open = openBatch(this.#durable);
  }

  /** The newest revision that is durable. */
  get revision(): Revision {
    return this.#durable;
  }

  get isBroken(): boolean {
    return this.#broken !== undefined;
  }

  /** Resolves with the answer when the command's changes are durable; rejects when the command is rejected. */
  submit<K extends Command["kind"]>(command: CommandOf<K>): Promise<AnswerTo<K>> {
    return new Promise<unknown>((resolve, reject) => {
      const refusal = this.#refusal();
      if (refusal !== undefined) {
        reject(refusal);
        return;
      }
      this.#waiting.push({ command, resolve, reject });
      this.#schedule();
    }) as Promise<AnswerTo<K>>;
  }

  #refusal(): AppError | undefined {
    if (this.#broken !== undefined) return this.#broken;
    if (this.#stopping) return new AppError("unavailable", "the server is stopping");
    if (this.#waiting.length - this.#head < limits.commandsQueuedMax) return undefined;
    return new AppError("exhausted", "too many commands are queued; try again later");
  }

  /** Reads the newest state; resolves when everything that the answer shows is durable. */
  read<T>(look: (state: State, revision: Revision) => T): Promise<T> {
    const isOpen = this.#open.changes.length > 0;
    return this.#readAfter(isOpen ? this.#open : this.#flushing.at(-1), look);
  }

  /**
   * The same for a read of pull clusters only: it need not wait for jobs and tasks to become durable, which are
   * most of the changes.
   */
  readGraphs<T>(look: (state: State, revision: Revision) => T): Promise<T> {
    const batches = [...this.#flushing, this.#open];
    return this.#readAfter(
      batches.findLast(({ hasGraphs }) => hasGraphs),
      look,
    );
  }

  #readAfter<T>(
    batch: OpenBatch | undefined,
    look: (state: State, revision: Revision) => T,
  ): Promise<T> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    // The open batch may still grow: the read has seen everything up to its last change so far.
    const seen = batch?.revision ?? this.#durable;
    return whenDurable(batch, () => look(this.#state, seen));
  }

  /**
   * Reads in slices, so that commands and other readers have their turn in between: calls `look` until it returns that it is done. Resolves
   * when everything that it saw is durable, with the revision of the first slice: a watch from that revision misses nothing, and may repeat
   * changes that a later slice has seen.
   */
  readSlices(look: (state: State, revision: Revision) => boolean): Promise<Revision> {
    let first: Revision | undefined;
    return this.#turns.run((resolve, reject) => {
      let isMore = false;
      const seen = this.read((state, revision) => {
        first ??= revision;
        isMore = !look(state, revision);
        return first;
      });
      seen.then((revision) => (isMore ? undefined : resolve(revision)), reject);
      return isMore;
    });
  }

  /** The same without waiting for anything to become durable: for advisory answers. */
  peekSlices(look: (state: State) => boolean): Promise<void> {
    return this.#turns.run<void>((resolve) => {
      const isMore = !look(this.#state);
      if (!isMore) resolve();
      return isMore;
    });
  }

  /** Reads without waiting: for advisory answers, never for an answer that confirms a change. */
  peek<T>(look: (state: State) => T): T {
    return look(this.#state);
  }

  /** Plans again without a command: a backoff is over. */
  wake(): void {
    this.#schedule();
  }

  /** Accepts no more commands, finishes the queued ones, and resolves when all is durable. */
  async stop(): Promise<void> {
    this.#stopping = true;
    while (this.#broken === undefined && !this.#isIdle) {
      await new Promise<void>((resolve) => {
        // All queued commands may be rejected: then nothing is stored, and no batch ends.
        const batch = this.#flushing[0];
        if (batch === undefined) this.#options.soon(resolve);
        else batch.done.push(() => resolve());
        this.#schedule();
      });
    }
    this.#isStopped = true; // the next start places the remaining tasks
    this.#folder.close();
  }

  get #isIdle(): boolean {
    const nothingOpen = this.#open.changes.length === 0 && this.#flushing.length === 0;
    return nothingOpen && this.#head === this.#waiting.length;
  }

  #schedule(): void {
    if (this.#scheduled || this.#broken !== undefined) return;
    this.#scheduled = true;
    this.#options.soon(() => {
      this.#scheduled = false;
      this.#drain();
    });
  }

  #drain(): void {
    if (this.#broken !== undefined || this.#isStopped) return;
    let more: boolean;
    try {
      this.#decideWaiting();
      const isSettled = this.#settleRound();
      const isPlanned = !this.#planRound();
      more = !isPlanned || !isSettled || !this.#aheadRound();
      this.#takeAlong();
    } catch (cause) {
      // Thrown while applying: memory may be half changed. The decided changes are not stored.
      this.#break("internal error while applying a change", cause);
      return;
    }
    this.#flush();
    if (this.#isFull) return; // continues when the flush ends
    if (more || this.#head < this.#waiting.length) this.#schedule();
  }

  get #isFull(): boolean {
    return this.#open.changes.length >= limits.changesPerBatchMax;
  }

  #decideWaiting(): void {
    for (let count = 0; count < limits.commandsPerDrainMax && !this.#isFull; count++) {
      const next = this.#waiting[this.#head];
      if (next === undefined) break;
      this.#head++;
      this.#decideOne(next);
    }
    if (this.#head === this.#waiting.length) {
      this.#waiting.length = 0;
      this.#head = 0;
    }
  }

  #decideOne({ command, resolve, reject }: Waiting): void {
    let decision: Decision;
    try {
      decision = decide(this.#state, command);
    } catch (error) {
      // A rejection changed nothing. Any other error is a bug of ours, and the answer says so.
      if (!(error instanceof AppError)) {
        this.#options.logger.error({ err: error, command: command.kind }, "command failed");
      }
      this.#refuse(AppError.from(error, `decide ${command.kind}`), reject);
      return;
    }
    for (const change of decision.changes) this.#apply(change);
    // A command that changes nothing still depends on the decisions before it.
    const batch = this.#open.changes.length > 0 ? this.#open : this.#flushing.at(-1);
    if (batch === undefined) resolve(decision.answer);
    else {
      batch.done.push((error) => (error === undefined ? resolve(decision.answer) : reject(error)));
    }
  }

  /** An error with a revision waits until that revision is durable. */
  #refuse(refusal: AppError, reject: (error: unknown) => void): void {
    const batch = this.#open.changes.length > 0 ? this.#open : this.#flushing.at(-1);
    if (refusal.revision === undefined || batch === undefined) reject(refusal);
    else batch.done.push((error) => reject(error ?? refusal));
  }

  #apply(change: Change): void {
    if (change.table === "task") this.#applyTask(change);
    else applyTo(this.#open, this.#state, change);
  }

  #applyTask(change: Change & { readonly table: "task" }): void {
    const { row } = change;
    checkMove(this.#state, row);
    const before = this.#state.task(row);
    applyTo(this.#open, this.#state, change);
    const job = noteJob(this.#open, this.#state, row.jobId);
    this.metrics.taskMoved(job, before, row);
  }

  /**
   * Releases or skips jobs whose dependencies are decided, judges nodes by the tasks that ended on them, and steps services towards their
   * spec, up to a bound; returns whether that was all.
   */
  #settleRound(): boolean {
    const nowMs = this.#options.clock.nowMs();
    for (let count = 0; count < limits.settlementsPerRoundMax && !this.#isFull;) {
      const change = nextSettlement(this.#state, nowMs) ?? nextQuarantine(this.#state, nowMs);
      const changes = change === undefined ? nextServiceStep(this.#state, nowMs) : [change];
      if (changes === undefined) return true;
      for (const one of changes) this.#apply(one);
      count += changes.length;
    }
    return false;
  }

  /** Places tasks that fit, up to a bound; returns whether there may be more. */
  #planRound(): boolean {
    const { queue, fleet } = this.#state;
    const { plan = nextPlacement } = this.#options;
    const nowMs = this.#options.clock.nowMs();
    queue.release(nowMs);
    const planLimits = {
      candidatesMax: limits.candidatesPerPlacementMax,
      wakeChecksMax: limits.wakeChecksPerRoundMax,
      nowMs,
    };
    const firstStep = matchWork.steps;
    for (let count = 0; count < limits.placementsPerRoundMax && !this.#isFull; count++) {
      // Some graphs take long to compare with requests: other work has its turn in between.
      if (matchWork.steps - firstStep >= limits.stepsPerSliceMax) return true;
      const placement = plan(this.#state, this.#options.policy, planLimits);
      if (placement === undefined) return fleet.hasImproved;
      const outcome = placeTask(this.#state, placement, nowMs);
      if (outcome.kind === "refused") this.#refusals.add(outcome, nowMs);
      else {
        for (const change of outcome.changes) this.#apply(change);
        this.metrics.placements += outcome.tasks;
      }
    }
    return true;
  }

  /** Once nothing more can be placed, fetches tasks ahead, or back, up to a bound; returns whether that was all. */
  #aheadRound(): boolean {
    const nowMs = this.#options.clock.nowMs();
    const round = new AheadRound(this.#state, this.#options.policy);
    for (let count = 0; count < limits.placementsPerRoundMax && !this.#isFull; count++) {
      const next = fetchNext(this.#state, round, nowMs);
      if (next === undefined) return true;
      if (next.kind === "refused") this.#refusals.add(next, nowMs);
      else this.#apply({ table: "task", row: next.row });
    }
    return false;
  }

  #takeAlong(): void {
    if (this.#open.changes.length === 0 || this.#isFull) return;
    const rider = this.#options.along?.();
    if (rider !== undefined) this.#decideOne(rider as Waiting);
  }

  #flush(): void {
    const under = this.#flushing.length;
    if (under >= limits.batchesInFlightMax) return;
    // A large batch is encoded while the one before it is written; a small one costs less when it has more.
    if (this.#open.changes.length < (under === 0 ? 1 : limits.changesInFlightMin)) return;
    const batch = this.#open;
    this.#flushing.push(batch);
    this.#open = openBatch(batch.revision);
    const startedMs = steadyMs(this.#options.clock);
    const { lastJobId: lastId } = this.#state.counter;
    this.#options.store
      .commit({ revision: batch.revision, writes: toWrites(this.#state, batch), lastId })
      .then(
        () => this.#committed(batch, startedMs),
        (cause: unknown) => this.#break("the store failed", cause),
      );
  }

  #committed(batch: OpenBatch, startedMs: number): void {
    if (this.#broken !== undefined) return;
    invariant(this.#flushing.shift() === batch, "batches become durable in their order");
    this.#durable = batch.revision;
    this.metrics.committed(steadyMs(this.#options.clock) - startedMs);
    this.#options.onCommit(batch);
    for (const done of batch.done) done();
    this.#folder.stored({ jobs: batch.jobTexts, ended: endedJobs(batch) });
    this.#flush();
    const { queue, holds, fleet, services } = this.#state;
    const isToDo = fleet.ahead.toReview !== undefined || services.hasChanged;
    const isMore = queue.mayPlace || holds.nextSettled() !== undefined || isToDo;
    if (isMore || this.#head < this.#waiting.length) this.#schedule();
  }

  #break(what: string, cause: unknown): void {
    if (this.#broken !== undefined) return; // the batch before failed
    const text = `${what}; the server stops, and a restart continues from the last durable change`;
    const error = new AppError("unavailable", text, { cause });
    this.#broken = error;
    this.#folder.close();
    for (const batch of [...this.#flushing, this.#open]) {
      for (const done of batch.done) done(error);
    }
    for (const { reject } of this.#waiting.slice(this.#head)) reject(error);
    this.#waiting.length = 0;
    this.#head = 0;
    this.#options.onBroken(error);
  }
}

function* endedJobs({ jobs }: OpenBatch): Generator<JobId> {
  for (const [id, { progress }] of jobs) if (isJobEnded(progress)) yield id;
}
