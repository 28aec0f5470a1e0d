import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Metadata,
  Server,
  ServerCredentials,
  type ServerWritableStream,
  type ServiceDefinition,
  status,
  type UntypedServiceImplementation,
} from "@grpc/grpc-js";
import { Busbar } from "../../gen/busbar/v1/busbar_pb.ts";
import { CODE_KEY, FIELD_KEY } from "../status.ts";

type Methods = (typeof Busbar)["method"];
type Output<Name extends keyof Methods> = MessageInitShape<Methods[Name]["output"]>;

/** Canned answers: a unary method returns one, a streaming method yields many. */
export type Handlers = {
  readonly [Name in keyof Methods]?: (
    request: MessageShape<Methods[Name]["input"]>,
    signal: AbortSignal,
  ) => Methods[Name]["methodKind"] extends "unary"
    ? Output<Name> | Promise<Output<Name>>
    : AsyncIterable<Output<Name>>;
};

/** A handler throws this to reject a call. */
export class Refusal extends Error {
  readonly status: status;
  readonly field: string | undefined;
  /** The server's own code, where gRPC has none. */
  readonly own: string;
  constructor(code: keyof typeof status, message: string, field?: string, own = "refused") {
    super(message);
    this.status = status[code];
    this.field = field;
    this.own = own;
  }
}

/** A server of the native API on a free port of loopback, for tests only. */
export async function serve(
  handlers: Handlers,
): Promise<{ readonly address: string; close(): Promise<void> }> {
  const server = new Server();
  server.addService(definition(), implementation(handlers));
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  return {
    address: `127.0.0.1:${port}`,
    close: async () => {
      server.forceShutdown();
      // forceShutdown returns before the sockets are closed.
      await new Promise<void>((resolve) => setImmediate(resolve));
    },
  };
}

function definition(): ServiceDefinition {
  const entries = Object.values(Busbar.method).map((method) => [
    method.name,
    {
      path: `/${Busbar.typeName}/${method.name}`,
      requestStream: false,
      responseStream: method.methodKind === "server_streaming",
      requestSerialize: encode(method.input),
      requestDeserialize: (bytes: Buffer) => fromBinary(method.input as DescMessage, bytes),
      responseSerialize: encode(method.output),
      responseDeserialize: (bytes: Buffer) => fromBinary(method.output as DescMessage, bytes),
    },
  ]);
  return Object.fromEntries(entries) as ServiceDefinition;
}

const encode = (schema: DescMessage) => (message: MessageShape<DescMessage>) =>
  Buffer.from(toBinary(schema, message));

type AnyHandler = (request: unknown, signal: AbortSignal) => unknown;

function implementation(handlers: Handlers): UntypedServiceImplementation {
  const result: UntypedServiceImplementation = {};
  for (const [name, handler] of Object.entries(handlers)) {
    const method = Busbar.method[name as keyof Methods];
    const answer = handler as AnyHandler;
    result[method.name] =
      method.methodKind === "unary"
        ? unary(method.output, answer)
        : streaming(method.output, answer);
  }
  return result;
}

const unary =
  (schema: DescMessage, handler: AnyHandler): handleUnaryCall<unknown, unknown> =>
  (call, callback) => {
    void answerOnce();
    async function answerOnce(): Promise<void> {
      try {
        const answer = await handler(call.request, new AbortController().signal);
        callback(null, create(schema, answer as MessageInitShape<DescMessage>));
      } catch (error) {
        callback(toStatus(error));
      }
    }
  };

const streaming =
  (schema: DescMessage, handler: AnyHandler): handleServerStreamingCall<unknown, unknown> =>
  (call) => {
    const ended = new AbortController();
    call.on("cancelled", () => ended.abort());
    void pump(schema, handler(call.request, ended.signal), call);
  };

async function pump(
  schema: DescMessage,
  answers: unknown,
  call: ServerWritableStream<unknown, unknown>,
): Promise<void> {
  try {
    for await (const answer of answers as AsyncIterable<MessageInitShape<DescMessage>>) {
      call.write(create(schema, answer));
    }
    call.end();
  } catch (error) {
    call.emit("error", toStatus(error));
  }
}

function toStatus(error: unknown): { code: status; details: string; metadata: Metadata } {
  const metadata = new Metadata();
  if (!(error instanceof Refusal)) {
    return { code: status.INTERNAL, details: String(error), metadata };
  }
  metadata.set(CODE_KEY, error.own);
  if (error.field !== undefined) metadata.set(FIELD_KEY, error.field);
  return { code: error.status, details: error.message, metadata };
}
