import { join } from "node:path";

import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Executor, OutputPart } from "../../../ports/executor.ts";
import type { Stream } from "./output.ts";
import { readPart } from "./output.ts";
import { WakeList } from "./wake-list.ts";

export interface OutputSource {
  readonly directory: string;
  readonly limitBytes: number;
  readonly hasEnded: boolean;
}

/** Reads outputs, and waits for more: a poll, but only while someone waits. */
export class OutputReader {
  readonly #clock: Clock;
  readonly #sourceOf: (key: string) => OutputSource;
  readonly #waiting: WakeList;
  #isClosed = false;

  /** `sourceOf` throws `not_found` for a run whose output is not there. */
  constructor(clock: Clock, sourceOf: (key: string) => OutputSource) {
    this.#clock = clock;
    this.#sourceOf = sourceOf;
    this.#waiting = new WakeList(clock);
  }

  async read(
    key: string,
    stream: Stream,
    how: Parameters<Executor["readOutput"]>[2],
  ): Promise<OutputPart> {
    const untilMs = this.#clock.nowMs() + Math.min(how.waitMs, limits.outputWaitMsMax);
    for (;;) {
      const { directory, limitBytes, hasEnded } = this.#sourceOf(key);
      const part = await readPart({
        path: join(directory, stream),
        offset: how.offset,
        maxBytes: Math.min(how.maxBytes, limits.outputChunkBytesMax),
        limitBytes,
        hasEnded,
      });
      const leftMs = untilMs - this.#clock.nowMs();
      if (part.data.length > 0 || part.eof || leftMs <= 0 || this.#isClosed) return part;
      await this.#waiting.wait(key, Math.min(leftMs, limits.outputPollMs));
    }
  }

  /** The run has ended: who waits for more need not wait on. */
  ended(key: string): void {
    this.#waiting.wake(key);
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting.wakeAll();
  }
}
