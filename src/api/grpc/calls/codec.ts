import { type DescMessage, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";

/** One method of a service, from the generated descriptor. */
export interface Method {
  readonly name: string;
  readonly methodKind: "unary" | "server_streaming" | "client_streaming" | "bidi_streaming";
  readonly input: DescMessage;
  readonly output: DescMessage;
  readonly parent: { readonly typeName: string };
}

export const pathOf = ({ name, parent }: Method): string => `/${parent.typeName}/${name}`;

export const undecodable = ({ typeName }: DescMessage, cause?: unknown): AppError =>
  asUndecodable(new AppError("invalid_argument", `the request is not a ${typeName}`, { cause }));

const UNDECODABLE = new WeakSet<AppError>();

/** Marks the rejection of a request whose bytes are not its message: libraries of gRPC have a status for it. */
export function asUndecodable(error: AppError): AppError {
  UNDECODABLE.add(error);
  return error;
}

export const isUndecodable = (error: unknown): boolean =>
  error instanceof AppError && UNDECODABLE.has(error);

export function decodeRequest({ input }: Method, bytes: Uint8Array): MessageShape<DescMessage> {
  try {
    return fromBinary(input, bytes);
  } catch (error) {
    throw undecodable(input, error);
  }
}

/** Throws AppError when the answer does not fit a message. */
export function encodeAnswer(
  method: Method,
  answer: MessageShape<DescMessage>,
  bytesMax: number = limits.messageBytesMax,
): Uint8Array {
  return checkAnswer(method, toBinary(method.output, answer), bytesMax);
}

export function checkAnswer(
  method: Method,
  bytes: Uint8Array,
  bytesMax: number = limits.messageBytesMax,
): Uint8Array {
  if (bytes.byteLength > bytesMax) {
    throw new AppError(
      "exhausted",
      `the answer of ${method.name} has ${bytes.byteLength} bytes, more than the ` +
        `${bytesMax} of one message; ask for less, like a smaller page`,
    );
  }
  return bytes;
}
