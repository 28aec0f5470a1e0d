import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { FrameSink } from "../../grpc/calls/pushed-frames.ts";

/**
 * Frames on their way to one reader. While the network has not accepted the last batch, others are collected: a
 * reader that does not read costs memory up to a bound, and does not delay others.
 */
export class Orders {
  readonly #sink: FrameSink;
  readonly #onStuck: (error: AppError) => void;
  #waiting: Buffer[] = [];
  #isUnderWay = false;
  #isDue = false;

  constructor(sink: FrameSink, onStuck: (error: AppError) => void) {
    this.#sink = sink;
    this.#onStuck = onStuck;
  }

  push(frame: Buffer): void {
    if (this.#waiting.length >= limits.rikOrdersWaitingMax) {
      const total = this.#waiting.length;
      return this.#onStuck(new AppError("exhausted", `${total} orders wait to be read`));
    }
    this.#waiting.push(frame);
    if (this.#isUnderWay || this.#isDue) return;
    this.#isDue = true;
    queueMicrotask(() => this.#flush()); // consequences of one commit travel together
  }

  #flush(): void {
    this.#isDue = false;
    if (this.#waiting.length === 0) return;
    const frames = this.#waiting;
    this.#waiting = [];
    this.#isUnderWay = true;
    this.#sink.send(frames, () => {
      this.#isUnderWay = false;
      this.#flush();
    });
  }
}
