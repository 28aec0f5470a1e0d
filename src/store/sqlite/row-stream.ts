import type { AppError } from "../../lib/errors.ts";
import type { StoredRow } from "../../ports/store.ts";

type Chunk = readonly StoredRow[];

/** Chunks on their way from the thread to the reader. `onTaken` allows the thread to send one more. */
export class RowStream {
  readonly #onTaken: () => void;
  readonly #chunks: Chunk[] = []; // bounded: the thread waits for `onTaken`
  #state: { readonly kind: "open" | "ended" } | { readonly kind: "failed"; error: AppError } = {
    kind: "open",
  };
  #wake = Promise.withResolvers<void>();

  constructor(onTaken: () => void) {
    this.#onTaken = onTaken;
  }

  push(chunk: Chunk): void {
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

  async *chunks(): AsyncGenerator<Chunk> {
    for (;;) {
      const chunk = this.#chunks.shift();
      if (chunk !== undefined) {
        this.#onTaken();
        yield chunk;
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
}
