import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { type Client, Metadata, type ServiceError } from "@grpc/grpc-js";
import { AppError } from "../lib/errors.ts";
import { fromServiceError, isServiceError } from "./status.ts";

/** What a caller may say about one call. */
export interface CallOptions {
  /** Gives up when it fires; the call then throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** How long the whole call may take. Streams have no limit unless one is given here. */
  readonly timeoutMs?: number;
}

/** One method of a service, as the generated descriptor tells it. */
export interface ClientMethod<Input extends DescMessage, Output extends DescMessage> {
  readonly name: string;
  readonly input: Input;
  readonly output: Output;
  readonly parent: { readonly typeName: string };
}

/** A connection and what is said about it in errors. */
export interface Channel {
  readonly client: Client;
  readonly server: string;
  readonly timeoutMs: number;
}

/** Calls a method that answers once. */
export function callUnary<Input extends DescMessage, Output extends DescMessage>(
  channel: Channel,
  method: ClientMethod<Input, Output>,
  request: MessageInitShape<Input>,
  options: CallOptions = {},
): Promise<MessageShape<Output>> {
  const { signal, timeoutMs = channel.timeoutMs } = options;
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const onAbort = () => call.cancel();
    const call = channel.client.makeUnaryRequest<MessageShape<Input>, MessageShape<Output>>(
      pathOf(method),
      serializer(method.input),
      deserializer(method.output),
      create(method.input, request),
      new Metadata(),
      { deadline: Date.now() + timeoutMs },
      (error: ServiceError | null, answer?: MessageShape<Output>) => {
        signal?.removeEventListener("abort", onAbort);
        if (signal?.aborted === true) reject(signal.reason as Error);
        else if (error !== null) reject(fromServiceError(error, channel.server));
        else if (answer === undefined) reject(new AppError("internal", "the answer was empty"));
        else resolve(answer);
      },
    );
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** Calls a method that answers many times. Leaving the loop ends the call. */
export async function* callServerStream<Input extends DescMessage, Output extends DescMessage>(
  channel: Channel,
  method: ClientMethod<Input, Output>,
  request: MessageInitShape<Input>,
  options: CallOptions = {},
): AsyncGenerator<MessageShape<Output>, void, undefined> {
  const { signal, timeoutMs } = options;
  signal?.throwIfAborted();
  const call = channel.client.makeServerStreamRequest<MessageShape<Input>, MessageShape<Output>>(
    pathOf(method),
    serializer(method.input),
    deserializer(method.output),
    create(method.input, request),
    new Metadata(),
    timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs },
  );
  const onAbort = () => call.cancel();
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    for await (const message of call) yield message as MessageShape<Output>;
    // A cancelled call may also end without an error; the caller must not take that for the end.
    signal?.throwIfAborted();
  } catch (error) {
    signal?.throwIfAborted();
    throw isServiceError(error) ? fromServiceError(error, channel.server) : error;
  } finally {
    signal?.removeEventListener("abort", onAbort);
    // grpc-js reports the cancellation as an error event, after which nobody listens any more.
    call.on("error", () => undefined);
    call.cancel();
  }
}

const pathOf = (method: { name: string; parent: { typeName: string } }): string =>
  `/${method.parent.typeName}/${method.name}`;

const serializer =
  <Schema extends DescMessage>(schema: Schema) =>
  (message: MessageShape<Schema>): Buffer => {
    const bytes = toBinary(schema, message);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };

const deserializer =
  <Schema extends DescMessage>(schema: Schema) =>
  (bytes: Buffer): MessageShape<Schema> =>
    fromBinary(schema, bytes);
