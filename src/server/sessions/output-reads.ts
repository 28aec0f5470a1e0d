import type { NodeId } from "../../core/model/ids.ts";
import type { RunRef } from "../../core/state/command.ts";
import type { OutputChunk } from "../../gen/busbar/v1/agent_pb.ts";
import { OutputStream } from "../../gen/busbar/v1/agent_pb.ts";
import { AppError } from "../../lib/errors.ts";
import { unpack } from "../../lib/bytes/packing.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { MessageInit } from "./agent-session.ts";
import { toRunId } from "../work/work-lane.ts";

export interface OutputRange {
  readonly run: RunRef;
  readonly stream: "stdout" | "stderr";
  readonly offset: number;
  readonly waitMs: number;
  readonly bytesMax: number;
}

interface Reading {
  readonly waitMs: number;
  readonly sinceMs: number;
  /** Chunks that arrived and that the reader has not read. */
  readonly chunks: OutputChunk[];
  error: AppError | undefined;
  wake: () => void;
  cancelTimer: () => void;
}

/** Requests for output to one agent that are under way. */
export class OutputReads {
  readonly #nodeId: NodeId;
  readonly #clock: Clock;
  readonly #send: (message: MessageInit) => void;
  readonly #takesCancels: boolean;
  readonly #readings = new Map<number, Reading>();
  #lastRequest = 0;
  /** When the last chunk of any request arrived. */
  #heardMs = 0;

  constructor(options: {
    readonly nodeId: NodeId;
    readonly clock: Clock;
    readonly send: (message: MessageInit) => void;
    /** The agent supports parts. */
    readonly takesCancels: boolean;
  }) {
    this.#nodeId = options.nodeId;
    this.#clock = options.clock;
    this.#send = options.send;
    this.#takesCancels = options.takesCancels;
  }

  /** The chunks of one request, as they arrive. */
  async *read(range: OutputRange, signal: AbortSignal): AsyncGenerator<OutputChunk> {
    if (this.#readings.size >= limits.outputRequestsPerSessionMax) {
      const text = `too many readers of output on node ${this.#nodeId}; try again later`;
      throw new AppError("exhausted", text);
    }
    const request = ++this.#lastRequest;
    const reading = this.#begin(request, range);
    const wake = (): void => reading.wake();
    signal.addEventListener("abort", wake);
    let isOver = false;
    try {
      while (!isOver && !signal.aborted) {
        const chunk = reading.chunks.shift();
        if (chunk !== undefined) {
          isOver = !chunk.more;
          yield chunk;
        } else if (reading.error !== undefined) {
          isOver = true;
          throw reading.error;
        } else await new Promise<void>((resolve) => (reading.wake = resolve));
      }
    } finally {
      signal.removeEventListener("abort", wake);
      reading.cancelTimer();
      this.#readings.delete(request);
      if (!isOver && this.#takesCancels) {
        this.#send({ case: "output", value: { request, isCancelled: true } });
      }
    }
  }

  /** Throws when the chunk cannot be unpacked. */
  arrived(chunk: OutputChunk): void {
    this.#heardMs = this.#clock.nowMs();
    const reading = this.#readings.get(chunk.request);
    if (reading === undefined) return; // too late, or an unknown request
    chunk.data = unpack(chunk.encoding, chunk.data, limits.outputChunkBytesMax);
    reading.chunks.push(chunk);
    reading.cancelTimer();
    if (chunk.more) this.#limit(reading);
    reading.wake();
  }

  close(error: AppError): void {
    for (const reading of this.#readings.values()) this.#fail(reading, error);
    this.#readings.clear();
  }

  #begin(request: number, { run, stream, offset, waitMs, bytesMax }: OutputRange): Reading {
    const nothing = (): void => undefined;
    const reading: Reading = {
      waitMs,
      sinceMs: this.#clock.nowMs(),
      chunks: [],
      error: undefined,
      wake: nothing,
      cancelTimer: nothing,
    };
    this.#readings.set(request, reading);
    this.#limit(reading);
    this.#send({
      case: "output",
      value: {
        request,
        id: toRunId(run),
        stream: stream === "stdout" ? OutputStream.STDOUT : OutputStream.STDERR,
        offset,
        maxBytes: bytesMax,
        waitMs,
      },
    });
    return reading;
  }

  /** Counts progress of the whole agent: a reader may wait while the agent serves others. */
  #limit(reading: Reading): void {
    const limitMs = reading.waitMs + limits.outputWaitMsMax;
    reading.cancelTimer = this.#clock.after(limitMs, () => {
      const nowMs = this.#clock.nowMs();
      const isServing = nowMs - this.#heardMs < limitMs;
      if (isServing && nowMs - reading.sinceMs < limits.outputTurnMsMax) this.#limit(reading);
      else this.#fail(reading, late(this.#nodeId));
    });
  }

  #fail(reading: Reading, error: AppError): void {
    reading.cancelTimer();
    reading.error = error;
    reading.wake();
  }
}

const late = (nodeId: NodeId): AppError =>
  new AppError("unavailable", `node ${nodeId} did not send the output in time`);
