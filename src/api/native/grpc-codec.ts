import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import type { MethodDefinition } from "@grpc/grpc-js";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";

/** One method of a service, as the generated descriptor tells it. */
export interface Method {
  readonly name: string;
  readonly methodKind: "unary" | "server_streaming" | "client_streaming" | "bidi_streaming";
  readonly input: DescMessage;
  readonly output: DescMessage;
  readonly parent: { readonly typeName: string };
}

/** Bytes that are not the message they should be. A value, because grpc-js hides what is thrown. */
export class Undecodable {
  readonly error: AppError;

  constructor(input: DescMessage, cause: unknown) {
    this.error = undecodable(input, cause);
  }
}

export const undecodable = ({ typeName }: DescMessage, cause?: unknown): AppError =>
  new AppError("invalid_argument", `the request is not a ${typeName}`, { cause });

/** A request of a method that reads the bytes itself. */
export class RawRequest {
  readonly bytes: Buffer;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }
}

export type Decoded = MessageShape<DescMessage> | RawRequest | Undecodable;

/**
 * Answers reach grpc-js as bytes: encoding them here lets us refuse what is too large or cannot be
 * encoded with words of our own.
 */
export function definitionOf(method: Method, isRaw: boolean): MethodDefinition<Decoded, Buffer> {
  const { input, output } = method;
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: method.methodKind === "bidi_streaming",
    responseStream: method.methodKind !== "unary",
    requestSerialize: (value) =>
      value instanceof Undecodable || value instanceof RawRequest
        ? Buffer.alloc(0)
        : toBuffer(toBinary(input, value)),
    requestDeserialize(bytes) {
      if (isRaw) return new RawRequest(bytes);
      try {
        return fromBinary(input, bytes);
      } catch (error) {
        return new Undecodable(input, error);
      }
    },
    responseSerialize: (bytes) => bytes,
    responseDeserialize: (bytes) => {
      fromBinary(output, bytes);
      return bytes;
    },
  };
}

/** Throws AppError when the answer would not fit a message. */
export function encodeAnswer(method: Method, answer: MessageShape<DescMessage>): Buffer {
  return checkAnswer(method, toBinary(method.output, answer));
}

export function checkAnswer(method: Method, bytes: Uint8Array): Buffer {
  if (bytes.byteLength > limits.messageBytesMax) {
    throw new AppError(
      "exhausted",
      `the answer of ${method.name} has ${bytes.byteLength} bytes, more than the ` +
        `${limits.messageBytesMax} of one message; ask for less, like a smaller page`,
    );
  }
  return toBuffer(bytes);
}

const toBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
