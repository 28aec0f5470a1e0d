import type { AppError } from "../../lib/errors.ts";
import { invariant } from "../../lib/invariant.ts";
import type { Clock } from "../../ports/clock.ts";
import type { RunId } from "../../ports/executor.ts";
import type { Logger } from "../../ports/logger.ts";
import type { KeptBounds } from "../runs/ledger/kept-outputs.ts";
import type { StopCause } from "../runs/ledger/run-entries.ts";
import { RunLedger } from "../runs/ledger/run-ledger.ts";
import { runKey } from "../runs/run-key.ts";
import { endOfRun } from "./ends.ts";
import type { LowerEntry } from "./journal-entries.ts";
import { LowerReplay, partEntries, submittingEntry } from "./journal-entries.ts";
import type { LowerRun, LowerRunTerms, Part, PartEnd, PartState } from "./run.ts";
import { makeRun, reportOf, startOf } from "./run.ts";
import type { LowerSubmission } from "./submission.ts";

export interface LowerLedgerOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly keptBounds: KeptBounds;
  onEnded(run: LowerRun): void;
  /** Its files are no longer needed. */
  onRemoved(key: string): void;
}

/** The run ledger of an executor over another scheduler, with the parts of runs and their submissions. */
export class LowerLedger {
  readonly #options: LowerLedgerOptions;
  readonly #ledger: RunLedger<LowerRun, LowerRunTerms, LowerEntry>;
  readonly #submissions = new Map<string, LowerSubmission>();
  #changedAtMs: number;

  /** Reads the entries of an earlier process. */
  constructor(options: LowerLedgerOptions) {
    const { directory, clock, logger, keptBounds } = options;
    this.#options = options;
    this.#changedAtMs = clock.nowMs();
    this.#ledger = new RunLedger<LowerRun, LowerRunTerms, LowerEntry>({
      clock,
      logger,
      keptBounds,
      firstEntry: "accepted",
      reportOf,
      stopOf: ({ stop }) => stop,
      summary: {
        ofRun: partEntries,
        after: () => Array.from(this.#submissions.values(), submittingEntry),
      },
      onReplaced: (key) => options.onRemoved(key),
      onRemoved: (key) => options.onRemoved(key),
    });
    const replay = new LowerReplay();
    const remembered = this.#ledger.read(directory, replay);
    for (const run of replay.runs(remembered)) this.#ledger.restore(run);
    for (const open of replay.openSubmissions(this.runs)) this.doubtSubmission(open);
    this.#ledger.open(directory);
  }

  get runs(): ReadonlyMap<string, LowerRun> {
    return this.#ledger.runs;
  }

  /** Runs that have not ended. */
  get active(): ReadonlySet<LowerRun> {
    return this.#ledger.active;
  }

  /** The time of the last change. */
  get changedAtMs(): number {
    return this.#changedAtMs;
  }

  /** Submissions that the scheduler may or may not have accepted. */
  get submissions(): ReadonlyMap<string, LowerSubmission> {
    return this.#submissions;
  }

  /** Why there is no output of a run that ended here. */
  whyGone(key: string): string {
    return this.#ledger.kept.whyGone(key);
  }

  /** Also of a dropped run, as long as its output is retained. */
  termsOf(key: string): LowerRunTerms | undefined {
    return this.runs.get(key)?.terms ?? this.#ledger.kept.get(key)?.terms;
  }

  canAccept(key: string): boolean {
    return this.#ledger.canAccept(key);
  }

  get isFull(): boolean {
    return this.#ledger.isFull;
  }

  accept(id: RunId, terms: LowerRunTerms): LowerRun {
    const run = makeRun(id, runKey(id), terms);
    this.#changed();
    this.#ledger.accept(run);
    return run;
  }

  /** The intentions are on disk when this returns; otherwise it returns the reason, and nothing has changed. */
  beginSubmissions(submissions: readonly LowerSubmission[]): AppError | undefined {
    for (const submission of submissions) this.#ledger.note(submittingEntry(submission));
    const failure = this.#ledger.write();
    if (failure !== undefined) return failure;
    for (const submission of submissions) {
      const { marker, parts } = submission;
      this.#submissions.set(marker, submission);
      for (const part of parts) part.state = { kind: "submitting", marker };
    }
    return undefined;
  }

  /** The scheduler did not answer the submission. */
  doubtSubmission(submission: LowerSubmission): void {
    const sinceMs = this.#options.clock.nowMs();
    this.#submissions.set(submission.marker, { ...submission, sinceMs });
  }

  /** The scheduler has these jobs of the submission, and none for the other parts: they are to be submitted again. */
  settleSubmission({ marker, parts }: LowerSubmission, ids: readonly (string | undefined)[]): void {
    const taken: [string, string][] = [];
    const missing: Part[] = [];
    parts.forEach((part, at) => {
      if (part.state.kind !== "submitting") return;
      const id = ids[at];
      if (id === undefined) missing.push(part);
      else this.#setId(part, id);
      if (id !== undefined) taken.push([part.key, id]);
    });
    for (const part of missing) part.state = { kind: "waiting" };
    if (taken.length > 0) this.#note({ kind: "submitted", ids: taken });
    if (missing.length > 0) {
      this.#note({ kind: "not-submitted", parts: missing.map(({ key }) => key) });
    }
    this.#submissions.delete(marker);
  }

  /** Writes all noted entries now. */
  write(): void {
    this.#ledger.write();
  }

  /** Another job than the known one has claimed the part. */
  adopt(part: Part, id: string): void {
    this.#setId(part, id);
    this.#note({ kind: "submitted", ids: [[part.key, id]] });
  }

  #setId(part: Part, id: string): void {
    part.state = { kind: "submitted", id, isRunning: false, missingSinceMs: undefined };
  }

  /** Records the scheduler's state of a part that has not ended. */
  see(
    part: Part,
    seen: Pick<
      Extract<PartState, { kind: "submitted" }>,
      "isRunning" | "missingSinceMs" | "reason"
    >,
  ): void {
    invariant(part.state.kind === "submitted", "only what was submitted is seen");
    part.state = { ...part.state, reason: undefined, ...seen };
  }

  begin(part: Part, startedAtMs: number): void {
    if (part.startedAtMs !== undefined) return;
    part.startedAtMs = startedAtMs;
    this.#note({ kind: "began", part: part.key, startedAtMs });
    const { run } = part;
    if (run.isTold) return;
    run.isTold = true;
    this.#ledger.after(() => {
      if (run.ended === undefined) this.#ledger.notify(run);
    });
  }

  endPart(part: Part, end: PartEnd, endedAtMs = this.#options.clock.nowMs()): void {
    if (part.state.kind === "ended") return;
    const { run } = part;
    const state = { kind: "ended", end, endedAtMs } as const;
    part.state = state;
    const isAlone = run.parts.length === 1 && run.parts[0]?.length === 1;
    if (!isAlone) this.#note({ kind: "part-ended", part: part.key, state });
    if (run.parts.flat().every((each) => each.state.kind === "ended")) this.#end(run);
  }

  #end(run: LowerRun): void {
    const ends = run.parts
      .flat()
      .map(({ state }) => (state.kind === "ended" ? state.endedAtMs : 0));
    const startedAtMs = startOf(run);
    const endedAtMs = Math.max(...ends, startedAtMs ?? 0); // clocks of nodes may differ
    const report = { kind: "ended", startedAtMs, endedAtMs, end: endOfRun(run) } as const;
    run.ended = report;
    this.#changed();
    this.#options.onEnded(run);
    this.#ledger.end(run, report);
  }

  beginStop(run: LowerRun, cause: StopCause): void {
    if (run.stop !== undefined || run.ended !== undefined) return;
    this.#changed();
    run.stop = {
      ...this.#ledger.orderStop(run, cause, run.terms.killGraceMs),
      asked: undefined,
    };
    this.#ledger.write();
  }

  forget(run: LowerRun, bytes: number): void {
    const { terms } = run;
    const { outputLimitBytes } = terms;
    const forgottenAtMs = this.#options.clock.nowMs();
    this.#ledger.forget(run, { forgottenAtMs, bytes, outputLimitBytes, terms });
  }

  /** Removes outputs that are too many, too large or too old; returns when to look again. */
  removeSurplus(nowMs: number): number | undefined {
    return this.#ledger.removeSurplus(nowMs);
  }

  known(): ReturnType<RunLedger<LowerRun, LowerRunTerms>["known"]> {
    return this.#ledger.known();
  }

  /** Runs none of whose parts has begun. */
  queued(): LowerRun[] {
    return this.#ledger.queued();
  }

  onReport(listener: Parameters<RunLedger<LowerRun, LowerRunTerms>["onReport"]>[0]): void {
    this.#ledger.onReport(listener);
  }

  close(): void {
    this.#ledger.close();
  }

  #note(entry: LowerEntry): void {
    this.#changed();
    this.#ledger.note(entry);
  }

  #changed(): void {
    this.#changedAtMs = this.#options.clock.nowMs();
  }
}
