import { AppError } from "../lib/errors.ts";
import { invariant } from "../lib/invariant.ts";
import { limits } from "../limits.ts";
import type { Batch } from "../ports/store.ts";

/**
 * The checks of every store, wherever its rows are: in one place, so that adapters cannot differ.
 *
 *   open --fail--> broken     every later call fails with the first failure
 *     |
 *     +---shut---> closed     every later call fails; what was admitted before may settle
 *
 *   never --beginLoad--> running --endLoad--> done     commits are not admitted while running
 */
export class StoreGate {
  #durable: number;
  #admitted: number;
  #pending = 0;
  #load: "never" | "running" | "done" = "never";
  #failure: AppError | undefined;
  #isShut = false;

  constructor(revision: number) {
    this.#durable = revision;
    this.#admitted = revision;
  }

  get revision(): number {
    return this.#durable;
  }

  /** Why the store is broken: batches that were admitted before fail with this error too. */
  get failure(): AppError | undefined {
    return this.#failure;
  }

  /** Throws when the batch may not be committed; each admitted batch must end in `settle` or `fail`. */
  admit(batch: Batch): void {
    this.#checkOpen();
    invariant(this.#load !== "running", "load must end before the first commit");
    invariant(Number.isSafeInteger(batch.revision), "a revision must be a safe integer");
    if (batch.revision <= this.#admitted) {
      throw new AppError(
        "conflict",
        `revision ${batch.revision} is not larger than the last one, ${this.#admitted}`,
      );
    }
    for (const { revision = batch.revision } of batch.writes) {
      const isWithin = revision > this.#admitted && revision <= batch.revision;
      invariant(isWithin, "a row's revision is beyond the last batch, and not beyond its own");
    }
    if (this.#pending >= limits.storeBatchesPendingMax) {
      throw new AppError("exhausted", `${this.#pending} batches are waiting to be stored`);
    }
    this.#load = "done";
    this.#admitted = batch.revision;
    this.#pending += 1;
  }

  /** The oldest admitted batch is durable. */
  settle(revision: number): void {
    invariant(revision > this.#durable, "batches settle in order");
    this.#durable = revision;
    this.#pending -= 1;
  }

  beginLoad(): void {
    this.#checkOpen();
    invariant(this.#load === "never", "load is called once, before the first commit");
    this.#load = "running";
  }

  endLoad(): void {
    this.#load = "done";
  }

  /** Admits nothing from now on: the state on disk is unknown. Keeps the first error. */
  fail(error: AppError): AppError {
    this.#failure ??= error;
    return this.#failure;
  }

  /** Admits nothing more; admitted batches may still settle. */
  shut(): void {
    this.#isShut = true;
  }

  #checkOpen(): void {
    if (this.#isShut) throw new AppError("unavailable", "the store is closed");
    if (this.#failure !== undefined) throw this.#failure;
  }
}
