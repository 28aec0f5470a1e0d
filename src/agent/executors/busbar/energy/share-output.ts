import type { Task } from "../../../../gen/busbar/v1/busbar_pb.ts";
import { limits } from "../../../../limits.ts";
import type { OutputPart } from "../../../../ports/executor.ts";
import type { SiteApi } from "../site-api.ts";

/** A piece of the output of one task below; `isAll`: no more follows for now. */
export interface ReadPart {
  readonly part: Omit<OutputPart, "eof">;
  readonly isAll: boolean;
}

export interface ShareOutputOptions {
  readonly api: Pick<SiteApi, "listTasks">;
  readonly signal: AbortSignal;
  /** Reads from `offset` on; `isFollowed`: waits for the first bytes, for a bounded time. */
  read(taskId: string, offset: number, isFollowed: boolean): Promise<ReadPart>;
}

/** The lengths of outputs of ended tasks, by task and stream. Only the newest are remembered. */
export class KnownSizes {
  readonly #sizes = new Map<string, number>();

  get(key: string): number | undefined {
    return this.#sizes.get(key);
  }

  set(key: string, size: number): void {
    this.#sizes.set(key, size);
    const [oldest] = this.#sizes.keys();
    if (this.#sizes.size > limits.siteSizesMax && oldest !== undefined) this.#sizes.delete(oldest);
  }
}

/**
 * The output of a share above: the outputs of its tasks below, one after the other, in the order of their creation. The output of a later
 * task follows when those before it have ended.
 */
export async function readShareOutput(
  jobId: string,
  offset: number,
  { isOver, stream, sizes }: { isOver: boolean; stream: string; sizes: KnownSizes },
  options: ShareOutputOptions,
): Promise<OutputPart> {
  let left = offset;
  let last: Task | undefined;
  for await (const task of tasksOf(jobId, options)) {
    const key = `${task.id} ${task.attempt} ${stream}`;
    const size = sizes.get(key);
    if (size !== undefined && left >= size) {
      left -= size;
      continue;
    }
    last = task;
    const hasEnded = task.endedAtMs !== undefined;
    const { part, isAll } = await options.read(task.id, left, false);
    if (part.data.length > 0) {
      if (hasEnded && isAll) sizes.set(key, left + part.data.length);
      return { ...part, eof: false };
    }
    if (!hasEnded) break;
    const own = left === 0 ? 0 : await sizeOf(task.id, options);
    sizes.set(key, own);
    left -= own;
  }
  const isWaiting = last !== undefined && last.endedAtMs === undefined;
  if (!isWaiting) return { data: new Uint8Array(), truncated: false, eof: isOver };
  const { part } = await options.read(last?.id ?? "", left, true);
  return { ...part, eof: false };
}

async function* tasksOf(jobId: string, { api, signal }: ShareOutputOptions): AsyncGenerator<Task> {
  let pageToken: string | undefined;
  do {
    const more = pageToken === undefined ? {} : { pageToken };
    const page = await api.listTasks({ jobId, pageSize: limits.pageSizeMax, ...more }, { signal });
    yield* page.tasks.filter(({ startedAtMs }) => startedAtMs !== undefined);
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
}

/** The length of an ended output, read from its beginning. */
async function sizeOf(taskId: string, options: ShareOutputOptions): Promise<number> {
  for (let size = 0; ;) {
    const { part } = await options.read(taskId, size, false);
    if (part.data.length === 0) return size;
    size += part.data.length;
  }
}
