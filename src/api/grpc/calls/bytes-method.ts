import type { DescMessage } from "@bufbuild/protobuf";
import type { CallContext } from "./call.ts";

/** Answers bytes with bytes, where messages would cost more than the work: those of `output`. */
export class BytesMethod<Output extends DescMessage> {
  readonly output: Output;
  readonly answer: (request: Buffer, context: CallContext) => Promise<Uint8Array>;

  constructor(output: Output, answer: BytesMethod<Output>["answer"]) {
    this.output = output;
    this.answer = answer;
  }
}
