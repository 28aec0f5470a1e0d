import type { Batch, Store, StoredRow } from "../../src/ports/store.ts";
import { createMemoryStore, MemoryDisk } from "../../src/store/memory/memory-store.ts";
import type { Seeded } from "./random.ts";
import type { Seams } from "./seams.ts";
import type { ProcessClock, Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";
import type { Witness } from "./witness.ts";

/**
 * The server's disk. Slow at times, failing on request, and a write under way when the server dies is durable as a whole or not at all: the
 * server cannot know which.
 */
export class Disk {
  readonly #memory = new MemoryDisk();
  readonly #timeline: Timeline;
  readonly #random: Seeded;
  readonly #witness: Witness;
  readonly #trace: Trace;
  readonly #seams: Seams;
  #finishInFlight: (() => void) | undefined;
  #undoLast: () => void = () => undefined;
  /** The maximum duration of a flush; faults raise it for a while. */
  slownessMs = 4;
  /** Called once, when the next flush begins. */
  onNextFlush: (() => void) | undefined = undefined;
  /** The next flush fails. */
  failsNext = false;

  constructor(options: {
    readonly timeline: Timeline;
    readonly random: Seeded;
    readonly witness: Witness;
    readonly trace: Trace;
    readonly seams: Seams;
  }) {
    this.#timeline = options.timeline;
    this.#random = options.random;
    this.#witness = options.witness;
    this.#trace = options.trace;
    this.#seams = options.seams;
  }

  get rows(): readonly StoredRow[] {
    return [...this.#memory.rows.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  }

  get revision(): number {
    return this.#memory.revision;
  }

  /** The store of one process of the server. */
  open(clock: ProcessClock): Store {
    const inner = createMemoryStore(this.#memory, {
      beforeCommit: (batch) => this.#flush(batch, clock),
    });
    const commit = async (batch: Batch): Promise<void> => {
      await inner.commit(batch);
      this.#witness.stored(batch);
    };
    return {
      ...inner,
      load: () => this.#load(inner),
      commit: (batch) => {
        if (!this.#seams.storeAnswersEarly) return commit(batch);
        void commit(batch).catch(() => undefined);
        return Promise.resolve();
      },
    };
  }

  #flush(batch: Batch, clock: ProcessClock): Promise<void> {
    return new Promise((resolve, reject) => {
      this.onNextFlush?.();
      this.onNextFlush = undefined;
      const isFailing = this.failsNext;
      this.failsNext = false;
      this.#finishInFlight = () => {
        this.#rememberUndo(batch);
        resolve();
      };
      clock.after(this.#random.delayMs(this.slownessMs, 20 * this.slownessMs), () => {
        const finish = this.#finishInFlight;
        this.#finishInFlight = undefined;
        if (isFailing) reject(this.#fail(batch));
        else finish?.();
      });
    });
  }

  /** A flush that fails may have reached the disk all the same. */
  #fail(batch: Batch): Error {
    const isThere = this.#random.chance(0.5);
    this.#trace.line(`disk: flush ${batch.revision} fails, ${isThere ? "durable" : "lost"}`);
    if (isThere) {
      const { rows } = this.#memory;
      for (const { key, value, revision = batch.revision } of batch.writes) {
        if (value === undefined) rows.delete(key);
        else rows.set(key, { key, value, revision });
      }
      this.#memory.revision = batch.revision;
      this.#witness.stored(batch);
    }
    return new Error("input/output error");
  }

  #rememberUndo(batch: Batch): void {
    if (!this.#seams.diskLosesLastBatch) return;
    const { rows, revision } = this.#memory;
    const before = batch.writes.map(({ key }) => [key, rows.get(key)] as const);
    this.#undoLast = () => {
      this.#memory.revision = revision;
      for (const [key, row] of before) {
        if (row === undefined) rows.delete(key);
        else rows.set(key, row);
      }
    };
  }

  /** The server is dead: a write under way becomes durable, or is lost. */
  crash(): void {
    const finish = this.#finishInFlight;
    this.#finishInFlight = undefined;
    if (finish !== undefined && this.#random.chance(0.5)) finish();
    this.#timeline.after(0, () => {
      this.#memory.crash();
      this.#undoLast();
      this.#undoLast = () => undefined;
    });
  }

  async *#load(inner: Store): AsyncGenerator<readonly StoredRow[]> {
    for await (const rows of inner.load()) {
      const newest = rows.findLast(({ key }) => key.startsWith("job/"))?.key.slice(4) ?? "none";
      const isLost = this.#seams.loadLosesJob ? newest : "nothing";
      yield rows.filter(({ key }) => key.split("/")[1] !== isLost);
    }
  }
}
