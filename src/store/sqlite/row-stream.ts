import type { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { StoredRow } from "../../ports/store.ts";
import { charsOf, type PackedRows, unpackRows } from "./messages.ts";

/** A message wakes the thread: one for many chunks. */
const TAKEN_CHARS_MIN = limits.storeReadAheadChars / 4;

/** Chunks on their way from the thread to the reader. `onTaken` allows the thread to send as much again. */
export class RowStream {
  readonly #onTaken: (chars: number) => void;
  readonly #chunks: PackedRows[] = []; // bounded: the thread waits for `onTaken`
  #takenChars = 0;
  #state: { readonly kind: "open" | "ended" } | { readonly kind: "failed"; error: AppError } = {
    kind: "open",
  };
  #wake = Promise.withResolvers<void>();

  constructor(onTaken: (chars: number) => void) {
    this.#onTaken = onTaken;
  }

  push(chunk: PackedRows): void {
    this.#chunks.push(chunk);
    this.#wake.resolve();
  }

  end(): void {
    this.#state = { kind: "ended" };
    this.#wake.resolve();
  }

  fail(error: AppError): void {
    this.#state = { kind: "failed", error };
    this.#wake.resolve();
  }

  async *chunks(): AsyncGenerator<readonly StoredRow[]> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#took(charsOf(chunk));
        yield unpackRows(chunk);
      } else if (this.#state.kind === "failed") {
        throw this.#state.error;
      } else if (this.#state.kind === "ended") {
        return;
      } else {
        await this.#wake.promise;
        this.#wake = Promise.withResolvers();
      }
    }
  }

  #took(chars: number): void {
    this.#takenChars += chars;
    if (this.#takenChars < TAKEN_CHARS_MIN) return;
    this.#onTaken(this.#takenChars);
    this.#takenChars = 0;
  }
}
