import type { BusbarClient } from "../client/client.ts";
import { outputStreams } from "../client/state.ts";
import { AppError } from "../lib/errors.ts";
import { limits } from "../limits.ts";
import type { Session } from "./session.ts";

export type StreamName = keyof typeof outputStreams;
export type Write = (data: Uint8Array) => Promise<void>;

export interface OutputOf {
  readonly taskId: string;
  readonly stream: StreamName;
  /** 0: the latest. */
  readonly attempt: number;
  readonly follow: boolean;
}

/** How often an interrupted stream is resumed. */
const RESUMES_MAX = 20;

/** Copies one output to its end, across lost connections. Resolves with whether the task wrote more than is retained. */
export async function copyOutput(
  session: Session,
  what: OutputOf,
  write: Write,
  signal: AbortSignal,
): Promise<{ readonly truncated: boolean }> {
  const client = await session.client();
  let offset = 0n;
  let truncated = false;
  for (let resumes = 0; ; resumes += 1) {
    try {
      for await (const chunk of readFrom(client, what, offset, signal)) {
        truncated ||= chunk.truncated;
        offset += BigInt(chunk.data.length);
        if (chunk.data.length > 0) await write(chunk.data);
      }
      return { truncated };
    } catch (error) {
      // A temporary rejection counts as lost: other clients may read too much at once.
      const code = error instanceof AppError && !signal.aborted ? error.code : undefined;
      const lost = code === "unavailable" || code === "exhausted";
      if (!lost || !what.follow || resumes >= RESUMES_MAX) throw error;
      await session.context.sleep(resumeDelayMs(resumes), signal);
    }
  }
}

const readFrom = (client: BusbarClient, what: OutputOf, offset: bigint, signal: AbortSignal) => {
  const { taskId, stream, attempt, follow } = what;
  return client.readOutput(
    { taskId, stream: outputStreams[stream], attempt, follow, offset },
    { signal },
  );
};

const resumeDelayMs = (resumes: number): number =>
  Math.min(limits.reconnectDelayMsMin * 2 ** resumes, limits.reconnectDelayMsMax);

/**
 * Puts a prefix before every line, so that the outputs of many tasks can share a screen. A line is held back until it is complete, or too
 * long to wait for.
 */
export function prefixLines(prefix: string, write: Write): { write: Write; end(): Promise<void> } {
  const head = Buffer.from(prefix);
  let rest = Buffer.alloc(0);
  const emit = async (line: Buffer): Promise<void> => {
    const end = line.at(-1) === NEWLINE ? [] : [Buffer.from([NEWLINE])];
    await write(Buffer.concat([head, line, ...end]));
  };
  return {
    async write(data) {
      rest = Buffer.concat([rest, data]);
      for (let at = rest.indexOf(NEWLINE); at !== -1; at = rest.indexOf(NEWLINE)) {
        await emit(rest.subarray(0, at + 1));
        rest = rest.subarray(at + 1);
      }
      if (rest.length > limits.outputChunkBytesMax) await this.end();
    },
    async end() {
      if (rest.length > 0) await emit(rest);
      rest = Buffer.alloc(0);
    },
  };
}

const NEWLINE = 10;

/** Passes on only the last lines, when everything was written; of very long ones only their ends. */
export function tailLines(count: number, write: Write): { write: Write; end(): Promise<void> } {
  let rest = Buffer.alloc(0);
  const shorten = (): void => {
    // A newline at the end terminates the last line; it begins no other.
    let before = rest.length - (rest.at(-1) === NEWLINE ? 1 : 0);
    let from = rest.length;
    for (let lines = 0; lines < count && from > 0; lines++) {
      const newline = before === 0 ? -1 : rest.lastIndexOf(NEWLINE, before - 1);
      from = newline + 1;
      before = Math.max(0, newline);
    }
    rest = rest.subarray(Math.max(from, rest.length - TAIL_BYTES_MAX));
  };
  return {
    async write(data) {
      rest = Buffer.concat([rest, data]);
      shorten();
    },
    async end() {
      if (rest.length > 0) await write(rest);
    },
  };
}

const TAIL_BYTES_MAX = limits.outputBytesDefault;

/** Buffers the output, up to a bound, for answers that are one value. */
export function createCollector(bytesMax: number): { write: Write; text(): string } {
  const chunks: Uint8Array[] = [];
  let size = 0;
  return {
    async write(data) {
      const kept = data.subarray(0, Math.max(0, bytesMax - size));
      if (kept.length > 0) chunks.push(kept);
      size += kept.length;
    },
    text: () => Buffer.concat(chunks).toString("utf8"),
  };
}
