import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";

/** Runs work in slices: one slice in each turn of the thread, of all callers together. */
export class SliceTurns {
  readonly #soon: (run: () => void) => void;
  readonly #waiting: (() => void)[] = [];
  #isDue = false;

  constructor(soon: (run: () => void) => void) {
    this.#soon = soon;
  }

  /** Calls `slice` again as long as it returns true. */
  run<T>(
    slice: (resolve: (value: T) => void, reject: (error: unknown) => void) => boolean,
  ): Promise<T> {
    if (this.#waiting.length >= limits.listsAtOnceMax) {
      const text = `${limits.listsAtOnceMax} lists are being read; try again later`;
      return Promise.reject(new AppError("exhausted", text));
    }
    return new Promise((resolve, reject) => {
      const turn = (): void => {
        try {
          if (slice(resolve, reject)) this.#waiting.push(turn);
        } catch (error) {
          reject(AppError.from(error, "read"));
        }
      };
      if (this.#waiting.length === 0) turn();
      else this.#waiting.push(turn);
      this.#next();
    });
  }

  #next(): void {
    if (this.#isDue || this.#waiting.length === 0) return;
    this.#isDue = true;
    this.#soon(() => {
      this.#isDue = false;
      this.#waiting.shift()?.();
      this.#next();
    });
  }
}
