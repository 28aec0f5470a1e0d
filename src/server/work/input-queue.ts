import type { StreamPart } from "../../ports/attached-run.ts";

interface Waiting {
  readonly number: number;
  part: StreamPart;
}

/** Input of clients that waits for the link to their agent, in the order of arrival. */
export class InputQueue {
  readonly #waiting: Waiting[] = [];

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  add(number: number, part: StreamPart): void {
    this.#waiting.push({ number, part });
  }

  /** The next input, cut to about so many bytes. */
  take(bytesMax: number): { readonly number: number; readonly part: StreamPart } | undefined {
    const first = this.#waiting[0];
    if (first === undefined) return undefined;
    const { number, part } = first;
    if (part.data.length <= bytesMax) {
      this.#waiting.shift();
      return { number, part };
    }
    const { offset, data, end } = part;
    first.part = { offset: offset + bytesMax, data: data.subarray(bytesMax), end };
    return { number, part: { offset, data: data.subarray(0, bytesMax), end: false } };
  }

  /** The client is gone: drops its input. */
  drop(number: number): void {
    for (let at = this.#waiting.length - 1; at >= 0; at--) {
      if (this.#waiting[at]?.number === number) this.#waiting.splice(at, 1);
    }
  }
}
