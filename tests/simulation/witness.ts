import type { Job } from "../../src/core/model/job/job.ts";
import type { ReportedProgress } from "../../src/core/model/job/task-progress.ts";
import type { RunEvent, ServerMessage } from "../../src/gen/busbar/v1/agent_pb.ts";
import type { Batch, StoredRow } from "../../src/ports/store.ts";
import { Asked } from "./asks.ts";
import type { CheckerName, Verdict } from "./checkers.ts";
import {
  acknowledgedEndStays,
  acknowledgedJobExists,
  batchIsAllowed,
  isFirstExecution,
  machineRunsWhatFits,
  nodesHoldWhatFits,
  oneJobPerKey,
  removedJobHadEnded,
} from "./checkers.ts";
import { dependentsWait, fatesAreWritten, skipsAreDue } from "./dependents.ts";
import { endsWereTold, oneTakerEach } from "./accepted-tasks.ts";
import { heldIsNeverBoth } from "./held.ts";
import type { BatchMoves, Run } from "./durable.ts";
import { Durable, formatRun } from "./durable.ts";
import {
  holdsAreKept,
  KeptBack,
  pausedPlaceNothing,
  requeuedIsStoppedFirst,
} from "./job-changes.ts";
import { lossesFollowPolicy } from "./losses.ts";
import {
  countersGoDown,
  offeredAsAsked,
  offersHaveClusters,
  placedAsAsked,
  wholeNodesAreAlone,
} from "./placements.ts";
import { endsSayHowFar, progressGoesForward } from "./progress.ts";
import { oneJobPerSlot } from "./services.ts";
import { quarantinesAreDue, sickNodesCostNothing } from "./sick-nodes.ts";
import { agentIsTold, endsAreDurable, endsOf, revisionIsDurable } from "./told.ts";
import type { Trace } from "./trace.ts";

/** The first promise that was broken. */
export class Violation extends Error {
  readonly checker: CheckerName;

  constructor(checker: CheckerName, message: string) {
    super(`${checker}: ${message}`);
    this.name = "Violation";
    this.checker = checker;
  }
}

/**
 * Sees all stored rows, messages and runs, remembers the promises that follow, and asks the checkers. A violation is stored, not thrown:
 * product code that catches errors must not swallow it.
 */
export class Witness {
  readonly durable = new Durable();
  /** The clients' intentions. */
  readonly asked = new Asked();
  readonly #trace: Trace;
  violation: Violation | undefined = undefined;
  readonly #acknowledgedJobs = new Map<number, { id: number; spec: Job["spec"] }>();
  readonly #jobsByKey = new Map<string, number>();
  readonly #acknowledgedEnds = new Map<string, { readonly run: Run; readonly node: string }>();
  /** The clusters' reports about accepted attempts. */
  readonly #told = new Set<string>();
  /** Attempts in messages to clusters or agents. */
  readonly #takers = new Set<string>();
  /** Where each attempt was executed. */
  readonly executions = new Map<string, string>();
  /** Attempts whose processes have not ended. */
  readonly #alive = new Set<string>();
  readonly keptBack = new KeptBack();

  /** The last progress of runs. */
  readonly #lastWords = new Map<string, ReportedProgress>();

  constructor(trace: Trace) {
    this.#trace = trace;
  }

  judge(checker: CheckerName, verdict: Verdict): void {
    if (verdict === undefined || this.violation !== undefined) return;
    this.violation = new Violation(checker, verdict);
    this.#trace.line(`VIOLATION ${this.violation.message}`);
  }

  /** A batch has reached the disk. */
  stored(batch: Batch): void {
    const { durable } = this;
    const unfinished = new Map(
      Array.from(durable.jobs.values(), (job) => [job.id as number, job] as const)
        .filter(([id]) =>
          batch.writes.some(({ key, value }) => value === undefined && isJobKey(key, id)),
        )
        .map(([id, job]) => [id, durable.unfinished(job)] as const),
    );
    const moves = durable.note(batch);
    this.#trace.line(`disk: revision ${batch.revision}, ${batch.writes.length} rows`);
    for (const [checker, verdict] of batchIsAllowed(moves)) this.judge(checker, verdict);
    for (const move of moves.jobs) {
      const left = unfinished.get(move.before?.id ?? 0) ?? 0;
      this.judge("acknowledged-jobs-exist", removedJobHadEnded(left, move));
      if (move.after === undefined) this.#forget(move.before);
      else this.#noteKey(move.after);
    }
    this.#judgePlacements(moves);
    this.judge("no-overcommit", nodesHoldWhatFits(durable));
    this.judge("dependents-wait", dependentsWait(durable, moves));
    this.judge("skips-are-due", skipsAreDue(durable, moves));
    this.judge("fates-are-written", fatesAreWritten(durable));
    this.judge("sick-nodes-cost-nothing", sickNodesCostNothing(durable, moves));
    this.judge("quarantines-are-due", quarantinesAreDue(durable, moves));
    this.judge("losses-follow-policy", lossesFollowPolicy(durable, moves));
    this.judge("progress-goes-forward", progressGoesForward(moves.tasks));
    this.judge("ends-say-how-far", endsSayHowFar(this.#lastWords, moves.tasks));
    this.judge("held-is-begun-or-back", heldIsNeverBoth(durable, moves, this.executions));
    this.judge("one-job-per-slot", oneJobPerSlot(durable, moves));
    this.judge("holds-are-kept", holdsAreKept(this.keptBack, moves));
    this.judge("paused-groups-place-nothing", pausedPlaceNothing(this.keptBack, durable, moves));
    this.judge("requeued-is-stopped-first", requeuedIsStoppedFirst(durable, moves, this.#alive));
  }

  #judgePlacements(moves: BatchMoves): void {
    const scene = { durable: this.durable, asked: this.asked, moves };
    this.judge("placed-as-asked", placedAsAsked(scene));
    this.judge("whole-nodes-are-alone", wholeNodesAreAlone(scene));
    this.judge("offered-as-asked", offeredAsAsked(scene));
    this.judge("offers-have-clusters", offersHaveClusters(this.durable));
    this.judge("counters-go-down", countersGoDown(scene));
    this.judge("one-taker-each", oneTakerEach(this.durable, moves));
    this.judge("accepted-ends-were-reported", endsWereTold(this.#told, moves.tasks));
  }

  #noteKey(job: Job): void {
    this.judge("one-job-per-key", oneJobPerKey(this.#jobsByKey, job));
    if (job.idempotencyKey !== undefined) this.#jobsByKey.set(job.idempotencyKey, job.id);
  }

  /** Removed because it ended long ago: from here on no client may expect it. */
  #forget(job: Job | undefined): void {
    if (job === undefined) return;
    this.#acknowledgedJobs.delete(job.id);
    if (job.idempotencyKey !== undefined) this.#jobsByKey.delete(job.idempotencyKey);
  }

  /** A server is about to read the disk: everything ever promised must be there. */
  reread(rows: Iterable<StoredRow>, revision: number): void {
    this.durable.reload(rows, revision);
    this.checkPromises();
  }

  checkPromises(): void {
    for (const told of this.#acknowledgedJobs.values()) {
      this.judge("acknowledged-jobs-exist", acknowledgedJobExists(this.durable, told));
    }
    for (const { run, node } of this.#acknowledgedEnds.values()) {
      this.judge("acknowledged-ends-stay", acknowledgedEndStays(this.durable, run, node));
    }
  }

  /** A client is about to receive that its job was accepted. */
  jobAcknowledged(id: number, spec: Job["spec"], key: string | undefined): void {
    this.judge(
      "durable-before-told",
      this.durable.jobs.has(id) ? undefined : `job ${id} is acknowledged and not on the disk`,
    );
    this.#acknowledgedJobs.set(id, { id, spec });
    if (key === undefined) return;
    const known = this.#jobsByKey.get(key);
    const isOther = known !== undefined && known !== id;
    this.judge("one-job-per-key", isOther ? `key ${key} is job ${known} and ${id}` : undefined);
    this.#jobsByKey.set(key, id);
  }

  /** A cluster is about to receive that it has the task now. Returns the attempt. */
  accepted(id: string): number {
    const [jobId = 0, index = 0] = id.split(".").map(Number);
    const task = this.durable.task({ jobId, index });
    if (task?.state.kind !== "accepted") return task?.attempt ?? 0; // cancelled meanwhile, or ended
    const run = formatRun(task);
    this.judge("one-taker-each", this.#takers.has(run) ? `${run} has two takers` : undefined);
    this.#takers.add(run);
    return task.attempt;
  }

  /** A cluster is about to report the outcome of a task. */
  told(id: string, attempt: number, state: string): void {
    const [jobId = 0, index = 0] = id.split(".").map(Number);
    this.#told.add(`${formatRun({ jobId, index, attempt })} ${state}`);
  }

  /** Something with a revision is about to be shown to a client. */
  shown(what: string, revision: number): void {
    this.judge("durable-before-told", revisionIsDurable(this.durable, what, revision));
  }

  agentTold(node: string, message: ServerMessage["message"]): void {
    this.judge("durable-before-told", agentIsTold(this.durable, node, message));
  }

  endsAcknowledged(node: string, events: readonly RunEvent[]): void {
    this.judge("durable-before-told", endsAreDurable(this.durable, node, events));
    for (const run of endsOf(events)) this.#acknowledgedEnds.set(formatRun(run), { run, node });
  }

  /** A run reports progress. */
  said(run: Run, progress: ReportedProgress): void {
    this.#lastWords.set(formatRun(run), progress);
  }

  /** The process of a run has ended, in whatever way. */
  over(run: Run): void {
    this.#alive.delete(formatRun(run));
  }

  executed(
    run: Run,
    machine: { name: string; capacity: Record<string, number> },
    all: Run[],
  ): void {
    const { durable, executions } = this;
    const { name } = machine;
    this.judge("one-execution-per-attempt", isFirstExecution(durable, executions, run, name));
    executions.set(formatRun(run), name);
    this.#alive.add(formatRun(run));
    const wanted = all.filter((one) => durable.isWanted(one, name));
    this.judge("no-overcommit", machineRunsWhatFits(durable, machine, wanted));
  }
}

const isJobKey = (key: string, id: number): boolean =>
  key.startsWith("job/") && Number(key.slice(4)) === id;
