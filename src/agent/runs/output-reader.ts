import { join } from "node:path";

import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Executor, OutputPart } from "../../ports/executor.ts";
import type { Stream } from "./output.ts";
import { readPart } from "./output.ts";
import { WakeList } from "./wake-list.ts";

/** A directory in which each stream is a file. */
export interface OutputSource {
  readonly directory: string;
  readonly limitBytes: number;
  readonly hasEnded: boolean;
}

export interface ByteRange {
  readonly offset: number;
  readonly maxBytes: number;
}

/** Reads the current output. Throws `not_found` for a run without output. */
export type ReadNow = (key: string, stream: Stream, range: ByteRange) => Promise<OutputPart>;

export const readFrom = (
  { directory, limitBytes, hasEnded }: OutputSource,
  stream: Stream,
  { offset, maxBytes }: ByteRange,
): Promise<OutputPart> =>
  readPart({ path: join(directory, stream), offset, maxBytes, limitBytes, hasEnded });

/** Reads outputs, and waits for more. It polls only while a reader waits. */
export class OutputReader {
  readonly #clock: Clock;
  readonly #readNow: ReadNow;
  readonly #waiting: WakeList;
  #isClosed = false;

  constructor(clock: Clock, readNow: ReadNow) {
    this.#clock = clock;
    this.#readNow = readNow;
    this.#waiting = new WakeList(clock);
  }

  async read(
    key: string,
    stream: Stream,
    how: Parameters<Executor["readOutput"]>[2],
  ): Promise<OutputPart> {
    const untilMs = this.#clock.nowMs() + Math.min(how.waitMs, limits.outputWaitMsMax);
    for (;;) {
      const part = await this.#readNow(key, stream, {
        offset: how.offset,
        maxBytes: Math.min(how.maxBytes, limits.outputChunkBytesMax),
      });
      const leftMs = untilMs - this.#clock.nowMs();
      if (part.data.length > 0 || part.eof || leftMs <= 0 || this.#isClosed) return part;
      await this.#waiting.wait(key, Math.min(leftMs, limits.outputPollMs));
    }
  }

  /** The run has ended: ends the wait of its readers. */
  ended(key: string): void {
    this.#waiting.wake(key);
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting.wakeAll();
  }
}
