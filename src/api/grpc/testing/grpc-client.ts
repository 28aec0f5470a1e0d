import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  Client,
  type ClientDuplexStream,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";

import { connect as connectHttp2, type IncomingHttpHeaders } from "node:http2";

interface Method<Input extends DescMessage, Output extends DescMessage> {
  readonly name: string;
  readonly parent: { readonly typeName: string };
  readonly input: Input;
  readonly output: Output;
}

export const connect = (address: string, options: Record<string, number | string> = {}): Client =>
  new Client(address, credentials.createInsecure(), { "grpc.enable_http_proxy": 0, ...options });

export const pathOf = (method: { name: string; parent: { typeName: string } }): string =>
  `/${method.parent.typeName}/${method.name}`;

const same = (bytes: Buffer): Buffer => bytes;
const deadline = (): { deadline: number } => ({ deadline: Date.now() + 20_000 });

/** Sends any bytes to any path: for requests that a correct client never sends. */
export const callRaw = (client: Client, path: string, bytes: Uint8Array): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    client.makeUnaryRequest<Buffer, Buffer>(
      path,
      same,
      same,
      Buffer.from(bytes),
      new Metadata(),
      deadline(),
      (error: ServiceError | null, answer?: Buffer) =>
        error === null ? resolve(answer ?? Buffer.alloc(0)) : reject(error),
    );
  });

export const streamRaw = (
  client: Client,
  path: string,
  bytes: Uint8Array,
): ClientReadableStream<Buffer> =>
  client.makeServerStreamRequest<Buffer, Buffer>(path, same, same, Buffer.from(bytes));

export async function call<Input extends DescMessage, Output extends DescMessage>(
  client: Client,
  method: Method<Input, Output>,
  request: MessageInitShape<Input> = {} as MessageInitShape<Input>,
): Promise<MessageShape<Output>> {
  const bytes = toBinary(method.input, create(method.input, request));
  return fromBinary(method.output, await callRaw(client, pathOf(method), bytes));
}

export function stream<Input extends DescMessage, Output extends DescMessage>(
  client: Client,
  method: Method<Input, Output>,
  request: MessageInitShape<Input> = {} as MessageInitShape<Input>,
): ClientReadableStream<MessageShape<Output>> {
  return client.makeServerStreamRequest<MessageShape<Input>, MessageShape<Output>>(
    pathOf(method),
    (message) => Buffer.from(toBinary(method.input, message)),
    (bytes) => fromBinary(method.output, bytes),
    create(method.input, request),
  );
}

export const openBidi = <Input extends DescMessage, Output extends DescMessage>(
  client: Client,
  method: Method<Input, Output>,
): ClientDuplexStream<MessageShape<Input>, MessageShape<Output>> =>
  client.makeBidiStreamRequest<MessageShape<Input>, MessageShape<Output>>(
    pathOf(method),
    (message) => Buffer.from(toBinary(method.input, message)),
    (bytes) => fromBinary(method.output, bytes),
  );

/**
 * A stream whose answers stay unread until `read`. Uses node's own HTTP/2, because a client of grpc-js that does not read keeps everything
 * in memory and never slows the server down.
 */
export function openUnread(address: string, method: Method<DescMessage, DescMessage>) {
  const session = connectHttp2(`http://${address}`);
  const request = session.request({
    ":method": "POST",
    ":path": pathOf(method),
    "content-type": "application/grpc",
    te: "trailers",
  });
  session.on("error", () => undefined);
  request.on("error", () => undefined);
  request.end(Buffer.alloc(5)); // An empty message: not compressed, no bytes.
  let bytes = 0;
  let trailers: IncomingHttpHeaders = {};
  request.on("trailers", (got: IncomingHttpHeaders) => (trailers = got));
  const over = new Promise<void>((resolve) => request.once("close", resolve));
  return {
    read: () => void request.on("data", (chunk: Buffer) => (bytes += chunk.length)),
    /** How it ended, once it was read. */
    end: async () => {
      await over;
      return { bytes, trailers, code: request.rstCode };
    },
    close: () => session.destroy(),
  };
}

export const failure = (promise: Promise<unknown>): Promise<ServiceError> =>
  promise.then(
    () => Promise.reject(new Error("it should have failed")),
    (error: unknown) => error as ServiceError,
  );

/** All messages of a stream, or its error. */
export async function collect<Message>(call: ClientReadableStream<Message>): Promise<Message[]> {
  const messages: Message[] = [];
  for await (const message of call) messages.push(message as Message);
  return messages;
}
