import type { AppError } from "../../../lib/errors.ts";
import { invariant } from "../../../lib/invariant.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { EndedReport, Executor, RunId, RunReport } from "../../../ports/executor.ts";
import type { Logger } from "../../../ports/logger.ts";
import { createJournal, readJournal } from "./journal.ts";
import type { AfterWrite } from "./journal-writer.ts";
import { JournalWriter } from "./journal-writer.ts";
import type { KeptBounds, KeptOutput } from "./kept-outputs.ts";
import { KeptOutputs } from "./kept-outputs.ts";
import type {
  FirstEntry,
  OwnEntry,
  OwnReplay,
  RememberedRun,
  RunEntry,
  StopCause,
  StopOrder,
} from "./run-entries.ts";
import { droppedEntry, replay } from "./run-entries.ts";

/** The fields of an executor's run that the ledger uses. */
export interface LedgerRun<Terms> {
  readonly id: RunId;
  /** See runKey. */
  readonly key: string;
  readonly terms: Terms;
}

/** The differences between executors. */
export interface RunLedgerOptions<Run, Terms, Own> {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly keptBounds: KeptBounds;
  readonly firstEntry: FirstEntry;
  /** undefined: the run is queued. */
  reportOf(run: Run): RunReport | undefined;
  /** Of a run that has not ended. */
  stopOf(run: Run): StopOrder | undefined;
  /** The executor's own entries that a summary of the journal needs. */
  readonly summary?: OwnSummary<Run, Own>;
  /** A dropped run is started again: its leftovers must be moved away at once. */
  onReplaced(key: string, output: KeptOutput<Terms>): void;
  /** The output of a dropped run has expired. */
  onRemoved(key: string, output: KeptOutput<Terms>): void;
}

export interface OwnSummary<Run, Own> {
  before?(): Iterable<Own>;
  ofRun?(run: Run): Iterable<Own>;
  after?(): Iterable<Own>;
}

const hasSucceeded = (end: EndedReport["end"]): boolean =>
  end.kind === "exited" && end.exitCode === 0;

type Listener = Parameters<Executor["onReport"]>[0];

/**
 * The runs of one executor, and their entries in its journal.
 *
 *   accept --> active --end--> ended --forget--> output kept --too old, too many--> removed
 *                | ^
 *                +-+ orderStop
 *
 * The ledger notes each step in the journal; notifications and other consequences (`after`) wait until it is written. The executor decides
 * how a run gets from active to ended, and which processes or jobs it has.
 *
 * Invariant: `active` holds those of `runs` whose report is not an end; no key is in `runs` and `kept`.
 */
export class RunLedger<Run extends LedgerRun<Terms>, Terms, Own extends OwnEntry = never> {
  readonly #options: RunLedgerOptions<Run, Terms, Own>;
  readonly #writer: JournalWriter<RunEntry<Terms> | Own>;
  readonly #runs = new Map<string, Run>();
  readonly #active = new Set<Run>();
  readonly #kept: KeptOutputs<Terms>;
  readonly #listeners: Listener[] = [];
  #isClosed = false;

  constructor(options: RunLedgerOptions<Run, Terms, Own>) {
    this.#options = options;
    this.#writer = new JournalWriter(options.logger);
    this.#kept = new KeptOutputs(options.keptBounds);
  }

  /** Runs that the ledger has not dropped. */
  get runs(): ReadonlyMap<string, Run> {
    return this.#runs;
  }

  /** Runs that have not ended. */
  get active(): ReadonlySet<Run> {
    return this.#active;
  }

  /** Retained outputs of dropped runs. */
  get kept(): Pick<KeptOutputs<Terms>, "get" | "has" | "whyGone"> {
    return this.#kept;
  }

  get isFull(): boolean {
    return this.#runs.size > limits.runsPerAgentMax;
  }

  /** The entries of an earlier process. The executor looks up the later states: see `restore`. */
  read(directory: string, own: OwnReplay<Terms, Own>): ReadonlyMap<string, RememberedRun<Terms>> {
    const { entries, damaged } = readJournal(directory);
    if (damaged > 0) {
      this.#options.logger.warn({ damaged }, "left out damaged lines of the journal");
    }
    // Only this module writes the file.
    return replay(entries as (RunEntry<Terms> | Own)[], this.#kept, own);
  }

  /** Adds a run of an earlier process. */
  restore(run: Run): void {
    this.#runs.set(run.key, run);
    if (this.#options.reportOf(run)?.kind !== "ended") this.#active.add(run);
  }

  /** The output of a run that an earlier process dropped. */
  restoreKept(key: string, output: KeptOutput<Terms>): void {
    this.#kept.add(key, output);
  }

  /** Begins a new journal that holds everything known; entries are written from now on. */
  open(directory: string): void {
    this.#writer.open(createJournal(directory, this.#summarise()));
  }

  /** False: the run is known already, and must not run twice; or the ledger is closed. */
  canAccept(key: string): boolean {
    return !this.#isClosed && !this.#runs.has(key);
  }

  /** Call `after` to act on it. */
  accept(run: Run): void {
    const { key, terms } = run;
    invariant(!this.#runs.has(key), "a run is accepted once");
    const output = this.#kept.get(key);
    if (output !== undefined) {
      this.#kept.remove(key);
      this.#options.onReplaced(key, output);
    }
    this.#runs.set(key, run);
    this.#active.add(run);
    this.#writer.note({ kind: this.#options.firstEntry, key, terms });
  }

  /** Drops a run that has not begun: the server may start it again. */
  drop(run: Run): void {
    this.#runs.delete(run.key);
    this.#active.delete(run);
  }

  /** The caller adds the order to the state of the run, and stops the run `after` the order is written. */
  orderStop({ key }: Run, cause: StopCause, killGraceMs: number): StopOrder {
    const killAtMs = this.#options.clock.nowMs() + killGraceMs;
    this.#writer.note({ kind: "stopping", key, cause, killAtMs });
    return { cause, killAtMs };
  }

  /** The caller has already changed the state of the run. Listeners are notified once the entry is written. */
  end(run: Run, report: EndedReport): void {
    this.#writer.note({ kind: "ended", key: run.key, report });
    this.#active.delete(run);
    this.#writer.after(() => this.notify(run));
  }

  /** Reports the run, as it is now, to all listeners. */
  notify(run: Run): void {
    if (this.#isClosed) return;
    const report = this.#options.reportOf(run);
    if (report === undefined) return;
    for (const listener of this.#listeners) listener(run.id, report);
  }

  /** The server has the end of the run; the ledger retains its output for a while. */
  forget(run: Run, forgotten: KeptOutput<Terms>): void {
    const { key } = run;
    const report = this.#options.reportOf(run);
    const isFine = report?.kind === "ended" && hasSucceeded(report.end);
    const output = isFine ? forgotten : { ...forgotten, failed: true as const };
    this.#runs.delete(key);
    this.#kept.add(key, output);
    this.#writer.note(droppedEntry(key, output));
    this.removeSurplus(output.forgottenAtMs);
    this.#writer.compact(this.#runs.size + this.#kept.size, () => this.#summarise());
  }

  /** Removes outputs that are too many, too large or too old; returns when to look again. */
  removeSurplus(nowMs: number): number | undefined {
    for (const [key, output] of this.#kept.takeSurplus(nowMs)) {
      this.#writer.note({ kind: "removed", key });
      this.#options.onRemoved(key, output);
    }
    return this.#kept.nextSurplusAtMs();
  }

  note(entry: Own): void {
    this.#writer.note(entry);
  }

  /** Takes the step once everything noted so far is written. */
  after(step: AfterWrite): void {
    this.#writer.after(step);
  }

  /** Writes the noted entries now. */
  write(): AppError | undefined {
    return this.#writer.write();
  }

  /** Writes the whole journal again: entries may have been lost with the disk. */
  rewrite(): void {
    this.#writer.rewrite(this.#summarise());
  }

  known(): ReturnType<Executor["known"]> {
    const known: { id: RunId; report: RunReport }[] = [];
    for (const run of this.#runs.values()) {
      const report = this.#options.reportOf(run);
      if (report !== undefined) known.push({ id: run.id, report });
    }
    return known;
  }

  /** Accepted runs without a report yet. */
  queued(): Run[] {
    return [...this.#active].filter((run) => this.#options.reportOf(run) === undefined);
  }

  onReport(listener: Listener): void {
    this.#listeners.push(listener);
  }

  /** Writes the noted entries and takes the waiting steps. False: it was closed before. */
  close(): boolean {
    if (this.#isClosed) return false;
    this.#writer.close();
    this.#isClosed = true;
    return true;
  }

  /** The shortest journal that `read` turns into the same runs and outputs. */
  *#summarise(): Generator<RunEntry<Terms> | Own> {
    const { firstEntry, summary } = this.#options;
    yield* summary?.before?.() ?? [];
    for (const [key, output] of this.#kept.entries()) yield droppedEntry(key, output);
    for (const [key, run] of this.#runs) {
      yield { kind: firstEntry, key, terms: run.terms };
      const stop = this.#options.stopOf(run);
      if (stop !== undefined) {
        yield { kind: "stopping", key, cause: stop.cause, killAtMs: stop.killAtMs };
      }
      yield* summary?.ofRun?.(run) ?? [];
      const report = this.#options.reportOf(run);
      if (report?.kind === "ended") yield { kind: "ended", key, report };
    }
    yield* summary?.after?.() ?? [];
  }
}
