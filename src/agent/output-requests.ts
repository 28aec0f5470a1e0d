import { create } from "@bufbuild/protobuf";

import type { OutputChunk, OutputRequest } from "../gen/busbar/v1/agent_pb.ts";
import { OutputChunkSchema, OutputStream } from "../gen/busbar/v1/agent_pb.ts";
import { AppError, describeChain, invalid } from "../lib/errors.ts";
import { limits } from "../limits.ts";
import type { Executor } from "../ports/executor.ts";
import { fromWireId } from "./translate.ts";

/** Answers what the server asks of outputs, a bounded number at a time. Every request is answered. */
export class OutputRequests {
  readonly #executor: Executor;
  readonly #answer: (chunk: OutputChunk) => void;
  #underWay = 0;

  constructor(executor: Executor, answer: (chunk: OutputChunk) => void) {
    this.#executor = executor;
    this.#answer = answer;
  }

  serve(request: OutputRequest): void {
    if (this.#underWay >= limits.outputRequestsPerSessionMax) {
      this.#refuse(request, new AppError("exhausted", "too many requests for output at once"));
      return;
    }
    this.#underWay += 1;
    void this.#read(request)
      .then(this.#answer, (error: unknown) => this.#refuse(request, error))
      .finally(() => (this.#underWay -= 1));
  }

  async #read(request: OutputRequest): Promise<OutputChunk> {
    const { offset, maxBytes, waitMs } = request;
    if (!Number.isSafeInteger(offset) || offset < 0) throw invalid("offset", "must be from 0");
    const part = await this.#executor.readOutput(fromWireId(request.id), streamOf(request.stream), {
      offset,
      maxBytes: Math.min(Math.max(1, maxBytes), limits.outputChunkBytesMax),
      waitMs: Math.min(waitMs, limits.outputWaitMsMax),
    });
    return create(OutputChunkSchema, { request: request.request, ...part });
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
