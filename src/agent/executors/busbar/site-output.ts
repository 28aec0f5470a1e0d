import { outputStreams } from "../../../client/state.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Clock } from "../../../ports/clock.ts";
import type { Executor, OutputPart } from "../../../ports/executor.ts";
import { WakeList } from "../../runs/wake-list.ts";
import { KnownSizes, readShareOutput, type ShareOutputOptions } from "./energy/share-output.ts";
import type { SiteApi } from "./site-api.ts";

type Stream = Parameters<Executor["readOutput"]>[1];
type How = Parameters<Executor["readOutput"]>[2];

/** The fields of a run that reading its output needs. */
export interface OutputOwner {
  /** Undefined: no job of it is below. */
  readonly taskId: string | undefined;
  /** It is a share: a job below, of any number of tasks. */
  readonly isShare: boolean;
  readonly hasBegun: boolean;
  readonly hasEnded: boolean;
}

const NOTHING = { data: new Uint8Array(), truncated: false };

/** Reads outputs through the Busbar below, which has them. */
export class SiteOutput {
  readonly #api: Pick<SiteApi, "readOutput" | "listTasks">;
  readonly #clock: Clock;
  readonly #ownerOf: (key: string) => OutputOwner | undefined;
  readonly #waiting: WakeList;
  readonly #over = new AbortController();
  readonly #sizes = new KnownSizes();

  /** `ownerOf` is undefined for an unknown run, or one whose output was removed. */
  constructor(
    api: Pick<SiteApi, "readOutput" | "listTasks">,
    clock: Clock,
    ownerOf: (key: string) => OutputOwner | undefined,
  ) {
    this.#api = api;
    this.#clock = clock;
    this.#ownerOf = ownerOf;
    this.#waiting = new WakeList(clock);
  }

  /** The run has begun or ended. */
  changed(key: string): void {
    this.#waiting.wake(key);
  }

  close(): void {
    this.#over.abort();
    this.#waiting.wakeAll();
  }

  async read(key: string, stream: Stream, how: How): Promise<OutputPart> {
    const untilMs = this.#clock.nowMs() + Math.min(how.waitMs, limits.outputWaitMsMax);
    let owner = this.#owner(key);
    if (!owner.hasBegun && !owner.hasEnded) {
      await this.#waiting.wait(key, Math.max(0, untilMs - this.#clock.nowMs()));
      owner = this.#owner(key);
    }
    const { taskId, hasBegun, hasEnded, isShare } = owner;
    if (taskId === undefined || !hasBegun) return { ...NOTHING, eof: hasEnded };
    const maxBytes = Math.min(how.maxBytes, limits.outputChunkBytesMax);
    if (isShare) {
      const part = await this.#readShare(
        taskId,
        stream,
        { ...how, maxBytes },
        { hasEnded, untilMs },
      );
      if (part.eof || part.data.length > 0) return part;
      // This agent gets no event when the next of its tasks below begins.
      const leftMs = Math.max(0, untilMs - this.#clock.nowMs());
      await this.#waiting.wait(key, Math.min(leftMs, limits.siteFirstLookMs));
      return part;
    }
    const ask = { taskId, stream: outputStreams[stream], offset: BigInt(how.offset) };
    const now = await this.#collect({ ...ask, follow: false }, maxBytes, undefined);
    if (hasEnded) return { ...now.part, eof: now.isAll };
    const leftMs = untilMs - this.#clock.nowMs();
    if (now.part.data.length > 0 || leftMs <= 0) return { ...now.part, eof: false };
    const then = await this.#collect({ ...ask, follow: true }, maxBytes, leftMs);
    return { ...then.part, eof: then.isAll };
  }

  #readShare(
    jobId: string,
    stream: Stream,
    { offset, maxBytes }: How,
    { hasEnded: isOver, untilMs }: { readonly hasEnded: boolean; readonly untilMs: number },
  ): Promise<OutputPart> {
    const read: ShareOutputOptions["read"] = (taskId, from, isFollowed) => {
      const ask = { taskId, stream: outputStreams[stream], offset: BigInt(from) };
      const waitMs = isFollowed ? Math.max(0, untilMs - this.#clock.nowMs()) : undefined;
      return this.#collect({ ...ask, follow: isFollowed }, maxBytes, waitMs);
    };
    const how = { isOver, stream, sizes: this.#sizes };
    const options = { api: this.#api, signal: this.#over.signal, read };
    return readShareOutput(jobId, offset, how, options);
  }

  #owner(key: string): OutputOwner {
    const owner = this.#ownerOf(key);
    if (owner === undefined) throw new AppError("not_found", `no output of run ${key} here`);
    return owner;
  }

  /** `isAll`: the stream ended by itself. With a time to wait, the first bytes are enough. */
  async #collect(
    request: Parameters<SiteApi["readOutput"]>[0],
    maxBytes: number,
    waitMs: number | undefined,
  ): Promise<{ readonly part: Omit<OutputPart, "eof">; readonly isAll: boolean }> {
    const enough = new AbortController();
    const signal = AbortSignal.any([enough.signal, this.#over.signal]);
    const cancel =
      waitMs === undefined ? undefined : this.#clock.after(waitMs, () => enough.abort());
    const parts: Uint8Array[] = [];
    let bytes = 0;
    let truncated = false;
    const result = (isAll: boolean) => {
      const data = new Uint8Array(Buffer.concat(parts).subarray(0, maxBytes));
      return { part: { data, truncated }, isAll: isAll && bytes <= maxBytes };
    };
    try {
      for await (const part of this.#api.readOutput(request, { signal })) {
        parts.push(part.data);
        bytes += part.data.length;
        truncated ||= part.truncated;
        if (bytes > maxBytes || (waitMs !== undefined && bytes > 0)) return result(false);
      }
      return result(true);
    } catch (error) {
      if (signal.aborted) return result(false);
      throw error;
    } finally {
      cancel?.();
    }
  }
}
