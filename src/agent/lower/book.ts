import type { AppError } from "../../lib/errors.ts";
import { invariant } from "../../lib/invariant.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { RunId, RunReport } from "../../ports/executor.ts";
import type { Logger } from "../../ports/logger.ts";
import { createJournal, readJournal } from "../runs/ledger/journal.ts";
import type { KeptBounds } from "../runs/ledger/kept-outputs.ts";
import { KeptOutputs } from "../runs/ledger/kept-outputs.ts";
import { JournalWriter } from "../runs/ledger/journal-writer.ts";
import { runKey } from "../runs/run-key.ts";
import { endOfRun } from "./ends.ts";
import type { Entry, Memory } from "./entries.ts";
import { recall, summarise } from "./entries.ts";
import type { Part, PartEnd, PartState, Run, RunTerms, StopCause } from "./run.ts";
import { makeRun, reportOf, startOf } from "./run.ts";
import type { Submission } from "./submission.ts";

export interface BookOptions {
  readonly directory: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly keptBounds: KeptBounds;
  onReport(run: Run, report: RunReport): void;
  /** Nothing of it is needed any more. */
  onRemoved(key: string): void;
}

/** The runs of an executor over another scheduler, and every step they can make, written down first. */
export class Book {
  readonly #options: BookOptions;
  readonly #ledger: JournalWriter<Entry>;
  readonly #memory: Memory;
  readonly kept: KeptOutputs;
  /** Runs that have not ended. */
  readonly active = new Set<Run>();
  /** When anything last moved. */
  changedAtMs: number;

  /** Reads what an earlier life left. */
  constructor(options: BookOptions) {
    const { directory, logger } = options;
    this.#options = options;
    this.changedAtMs = options.clock.nowMs();
    this.kept = new KeptOutputs(options.keptBounds);
    this.#ledger = new JournalWriter(logger);
    const { entries, damaged } = readJournal(directory);
    if (damaged > 0) logger.warn({ damaged }, "left out damaged lines of the journal");
    this.#memory = recall(entries as Entry[], this.kept); // only we write it
    for (const run of this.#memory.runs.values()) {
      run.isTold = startOf(run) !== undefined;
      if (run.ended === undefined) this.active.add(run);
    }
    for (const submission of this.#memory.submissions.values()) this.doubtSubmission(submission);
    this.#ledger.open(createJournal(directory, summarise(this.#memory, this.kept)));
  }

  get runs(): ReadonlyMap<string, Run> {
    return this.#memory.runs;
  }

  /** Of which it is not known whether the scheduler took them. */
  get submissions(): ReadonlyMap<string, Submission> {
    return this.#memory.submissions;
  }

  termsOf(key: string): RunTerms | undefined {
    return this.#memory.runs.get(key)?.terms ?? this.#memory.keptTerms.get(key);
  }

  accept(id: RunId, terms: RunTerms): Run {
    const key = runKey(id);
    if (this.kept.remove(key)) {
      this.#memory.keptTerms.delete(key);
      this.#options.onRemoved(key);
    }
    const run = makeRun(id, key, terms);
    this.#memory.runs.set(key, run);
    this.active.add(run);
    this.#note({ kind: "accepted", key, terms });
    return run;
  }

  /** The intentions are on disk when this returns; else it says why not, and nothing has changed. */
  beginSubmissions(submissions: readonly Submission[]): AppError | undefined {
    for (const { marker, indexes, parts } of submissions) {
      this.#ledger.note({
        kind: "submitting",
        marker,
        indexes,
        parts: parts.map(({ key }) => key),
      });
    }
    const failure = this.#ledger.write();
    if (failure !== undefined) return failure;
    for (const submission of submissions) {
      const { marker, parts } = submission;
      this.#memory.submissions.set(marker, submission);
      for (const part of parts) part.state = { kind: "submitting", marker };
    }
    return undefined;
  }

  /** The scheduler was asked and did not answer. */
  doubtSubmission(submission: Submission): void {
    const sinceMs = this.#options.clock.nowMs();
    this.#memory.submissions.set(submission.marker, { ...submission, sinceMs });
  }

  /** The scheduler has these jobs of it, and of the other parts none: they wait again. */
  settleSubmission({ marker, parts }: Submission, ids: readonly (string | undefined)[]): void {
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
    this.#memory.submissions.delete(marker);
  }

  /** Writes what was noted so far, now. */
  write(): void {
    this.#ledger.write();
  }

  /** Another job than the one we know of has claimed the part. */
  adopt(part: Part, id: string): void {
    this.#setId(part, id);
    this.#note({ kind: "submitted", ids: [[part.key, id]] });
  }

  #setId(part: Part, id: string): void {
    part.state = { kind: "submitted", id, isRunning: false, missingSinceMs: undefined };
  }

  /** What the scheduler says of a part that has not ended. */
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
      if (run.ended === undefined) this.#tell(run);
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

  #end(run: Run): void {
    const ends = run.parts
      .flat()
      .map(({ state }) => (state.kind === "ended" ? state.endedAtMs : 0));
    const startedAtMs = startOf(run);
    const endedAtMs = Math.max(...ends, startedAtMs ?? 0); // clocks of nodes may differ
    const report = { kind: "ended", startedAtMs, endedAtMs, end: endOfRun(run) } as const;
    this.#note({ kind: "ended", key: run.key, report });
    run.ended = report;
    this.active.delete(run);
    this.#ledger.after(() => this.#tell(run));
  }

  #tell(run: Run): void {
    const report = reportOf(run);
    if (report !== undefined) this.#options.onReport(run, report);
  }

  beginStop(run: Run, cause: StopCause): void {
    if (run.stop !== undefined || run.ended !== undefined) return;
    const killAtMs = this.#options.clock.nowMs() + run.terms.killGraceMs;
    run.stop = { cause, killAtMs, asked: undefined };
    this.#note({ kind: "stopping", key: run.key, cause, killAtMs });
    this.#ledger.write();
  }

  forget(run: Run, bytes: number): void {
    const { key, terms } = run;
    const { outputLimitBytes } = terms;
    const atMs = this.#options.clock.nowMs();
    this.#memory.runs.delete(key);
    this.#memory.keptTerms.set(key, terms);
    this.kept.add(key, { forgottenAtMs: atMs, bytes, outputLimitBytes });
    this.#ledger.note({ kind: "forgotten", key, atMs, bytes, outputLimitBytes, terms });
    this.removeSurplus(atMs);
    const live = this.runs.size + this.kept.size;
    this.#ledger.compact(live, () => summarise(this.#memory, this.kept));
  }

  /** Drops outputs that are too many, too much or too old; when to look again. */
  removeSurplus(nowMs: number): number | undefined {
    for (const [key] of this.kept.takeSurplus(nowMs)) {
      this.#memory.keptTerms.delete(key);
      this.#ledger.note({ kind: "removed", key });
      this.#options.onRemoved(key);
    }
    return this.kept.nextSurplusAtMs();
  }

  #note(entry: Entry): void {
    this.changedAtMs = this.#options.clock.nowMs();
    this.#ledger.note(entry);
  }

  get isFull(): boolean {
    return this.runs.size > limits.runsPerAgentMax;
  }

  /** After all that was noted so far is written. */
  after(step: (failure: AppError | undefined) => void): void {
    this.#ledger.after(step);
  }

  close(): void {
    this.#ledger.close();
  }
}
