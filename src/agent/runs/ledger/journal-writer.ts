import { AppError, describeChain } from "../../../lib/errors.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { Journal } from "./journal.ts";

/** Runs once the journal holds the entries before it; `failure`: they could not be written. */
export type AfterWrite = (failure: AppError | undefined) => void;

/**
 * Write first, then act, in batches: the writer writes entries noted in one turn of the event loop together
 * at its end, then takes the steps that waited for them, in order. Before `open` it writes nothing:
 * the journal that is opened then holds everything.
 */
export class JournalWriter<Entry> {
  readonly #logger: Logger;
  #journal: Journal<Entry> | undefined;
  #steps: AfterWrite[] = [];
  #isScheduled = false;
  #isClosed = false;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Drops the waiting steps: they notify listeners, and there are none yet. */
  open(journal: Journal<Entry>): void {
    this.#journal = journal;
    this.#steps = [];
  }

  note(entry: Entry): void {
    this.#journal?.append(entry);
    this.#schedule();
  }

  after(step: AfterWrite): void {
    this.#steps.push(step);
    this.#schedule();
  }

  /** Writes the noted entries now; the steps still wait. */
  write(): AppError | undefined {
    try {
      this.#journal?.flush();
      return undefined;
    } catch (error) {
      this.#logger.error({ error: describeChain(error) }, "journal entries lost");
      return AppError.from(error, "write the journal");
    }
  }

  /** Replaces the journal by `entries`. Throws when it cannot be written. */
  rewrite(entries: Iterable<Entry>): void {
    this.#journal?.rewrite(entries);
  }

  /** Replaces the journal by `entries` when it has grown far beyond the `live` ones. */
  compact(live: number, entries: () => Iterable<Entry>): void {
    if (this.#journal?.isOvergrown(live) !== true) return;
    try {
      this.#journal.rewrite(entries());
    } catch (error) {
      this.#logger.error({ error: describeChain(error) }, "could not rewrite the journal");
    }
  }

  /** Writes the noted entries and takes the waiting steps; none is taken afterwards. */
  close(): void {
    this.#settle();
    this.#isClosed = true;
    this.#journal?.close();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      if (!this.#isClosed) this.#settle();
    });
  }

  #settle(): void {
    const failure = this.write();
    const steps = this.#steps;
    this.#steps = [];
    for (const step of steps) step(failure);
  }
}
