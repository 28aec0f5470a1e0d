import type { DescMessage } from "@bufbuild/protobuf";
import type { UnaryContext } from "./call-context.ts";

/** Answers bytes with bytes, where message objects would cost more than the work: those of `output`. */
export class BytesMethod<Output extends DescMessage> {
  readonly output: Output;
  readonly answer: (request: Buffer, context: UnaryContext) => Promise<Uint8Array>;

  constructor(output: Output, answer: BytesMethod<Output>["answer"]) {
    this.output = output;
    this.answer = answer;
  }
}
