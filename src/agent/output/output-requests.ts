import { create } from "@bufbuild/protobuf";

import type { OutputChunk, OutputRequest } from "../../gen/busbar/v1/agent_pb.ts";
import { OutputChunkSchema, OutputStream } from "../../gen/busbar/v1/agent_pb.ts";
import { AppError, describeChain, invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Executor, OutputPart } from "../../ports/executor.ts";
import type { OutputLane } from "./output-lane.ts";
import { fromWireId } from "../translate.ts";

const CHUNK_BYTES = 16; // about, of a chunk apart from its data

/** Answers the server's requests for output, a bounded number at a time. Every request gets an answer. */
export class OutputRequests {
  readonly #executor: Executor;
  readonly #lane: OutputLane;
  readonly #answer: (chunk: OutputChunk) => void;
  /** The numbers of open requests. */
  readonly #underWay = new Set<number>();
  #isClosed = false;

  constructor(executor: Executor, lane: OutputLane, answer: (chunk: OutputChunk) => void) {
    this.#executor = executor;
    this.#lane = lane;
    this.#answer = answer;
  }

  serve(request: OutputRequest): void {
    if (request.isCancelled) {
      this.#underWay.delete(request.request);
      return;
    }
    if (this.#underWay.size >= limits.outputRequestsPerSessionMax) {
      this.#refuse(request, new AppError("exhausted", "too many requests for output at once"));
      return;
    }
    this.#underWay.add(request.request);
    void this.#read(request)
      .catch((error: unknown) => this.#refuse(request, error))
      .finally(() => this.#underWay.delete(request.request));
  }

  close(): void {
    this.#isClosed = true;
    this.#lane.close();
  }

  /** In parts, if the server accepts them; each is read when the one before it has been sent. */
  async #read(request: OutputRequest): Promise<void> {
    const { offset, maxBytes } = request;
    if (!Number.isSafeInteger(offset) || offset < 0) throw invalid("offset", "must be from 0");
    const end = offset + Math.min(Math.max(1, maxBytes), limits.outputChunkBytesMax);
    let waitMs = Math.min(request.waitMs, limits.outputWaitMsMax);
    for (let at = offset, more = true; more; waitMs = 0) {
      const partBytes = Math.min(end - at, this.#lane.partBytes);
      const part = await this.#readPart(request, { offset: at, maxBytes: partBytes, waitMs });
      at += part.data.length;
      const isFull = part.data.length === partBytes && !part.eof && at < end;
      more = this.#lane.takesParts && isFull;
      await this.#lane.whenRoom(() => this.#send(request, part, more));
      more &&= this.#isWanted(request);
    }
  }

  #readPart(
    { id, stream }: OutputRequest,
    how: { readonly offset: number; readonly maxBytes: number; readonly waitMs: number },
  ): Promise<OutputPart> {
    return this.#executor.readOutput(fromWireId(id), streamOf(stream), how);
  }

  #isWanted({ request }: OutputRequest): boolean {
    return !this.#isClosed && this.#underWay.has(request);
  }

  #send(request: OutputRequest, part: OutputPart, more: boolean): number {
    if (!this.#isWanted(request)) return 0;
    const packed = this.#lane.pack(part.data);
    const chunk = { request: request.request, ...part, ...packed, more };
    this.#answer(create(OutputChunkSchema, chunk));
    return packed.data.length + CHUNK_BYTES;
  }

  #refuse(request: OutputRequest, error: unknown): void {
    this.#answer(
      create(OutputChunkSchema, { request: request.request, error: describeChain(error) }),
    );
  }
}

function streamOf(stream: OutputStream): "stdout" | "stderr" {
  if (stream === OutputStream.STDOUT) return "stdout";
  if (stream === OutputStream.STDERR) return "stderr";
  throw invalid("stream", "must be stdout or stderr");
}
