import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { Busbar, type WatchEvent } from "../gen/busbar/v1/busbar_pb.ts";
import { parseAddress } from "../lib/address.ts";
import { knowAnswers } from "../wire/write-json.ts";
import {
  callBothWays,
  type CallOptions,
  callServerStream,
  callUnary,
  type ClientMethod,
  type OpenStream,
  type Peer,
  type StreamEvents,
} from "./call.ts";
import { Channel } from "./grpc/channel.ts";

// Whoever has an answer can show it.
knowAnswers(Busbar);

/** How long a call that answers once may take unless told otherwise. */
const TIMEOUT_MS_DEFAULT = 30_000;

export interface ClientOptions {
  /** Where the server's gRPC port is: "127.0.0.1:7071". */
  readonly server: string;
  /** How long a call that answers once may take; default 30 s. */
  readonly timeoutMs?: number;
}

interface AnyMethod {
  readonly methodKind: "unary" | "server_streaming" | "client_streaming" | "bidi_streaming";
  readonly input: DescMessage;
  readonly output: DescMessage;
}

type Call<M extends AnyMethod> = M["methodKind"] extends "unary"
  ? (
      request: MessageInitShape<M["input"]>,
      options?: CallOptions,
    ) => Promise<MessageShape<M["output"]>>
  : M["methodKind"] extends "server_streaming"
    ? (
        request: MessageInitShape<M["input"]>,
        options?: CallOptions,
      ) => AsyncGenerator<MessageShape<M["output"]>, void, undefined>
    : (events: StreamEvents<M["output"]>) => OpenStream<M["input"]>;

/** Every method of a service by its name: `submitJobs({ jobs: [...] })`. */
export type Calls<Service extends { readonly method: Record<string, AnyMethod> }> = {
  readonly [Name in keyof Service["method"]]: Call<Service["method"][Name]>;
};

/**
 * Busbar's native API. Requests are plain objects; answers are protobuf messages (64-bit numbers
 * are bigint). Whatever goes wrong is an AppError with one of a closed set of codes; `field` names
 * the input at fault when the server said so. Streams are read with `for await`; leaving the loop
 * ends the call. `close` ends everything that is still under way.
 */
export interface BusbarClient extends Calls<typeof Busbar> {
  readonly server: string;
  close(): void;
}

/**
 * Connects on the first call, and again after a lost connection.
 *
 *     const client = createClient({ server: "127.0.0.1:7071" });
 *     const { jobs } = await client.submitJobs({ jobs: [{ spec: { command: ["true"] } }] });
 *     client.close();
 */
export function createClient(options: ClientOptions): BusbarClient {
  const channel = new Channel(parseAddress(options.server, "server"));
  const { server, timeoutMs = TIMEOUT_MS_DEFAULT } = options;
  const calls = bindService(Busbar, { channel, server, timeoutMs });
  const watch: BusbarClient["watch"] = (request, options) =>
    singly(calls.watch({ ...request, batches: true }, options));
  return { ...calls, watch, server, close: () => channel.close() };
}

/** Batches cost the server less; readers of the loop see events as if each came alone. */
async function* singly(
  events: AsyncGenerator<WatchEvent, void, undefined>,
): AsyncGenerator<WatchEvent, void, undefined> {
  for await (const event of events) {
    if (event.event.case === "batch") yield* event.event.value.events;
    else yield event;
  }
}

/** A function for each method of the descriptor. */
export function bindService<Service extends { readonly method: Record<string, AnyMethod> }>(
  service: Service,
  peer: Peer,
): Calls<Service> {
  const calls: Record<string, unknown> = {};
  for (const [name, description] of Object.entries(service.method)) {
    const method = description as AnyMethod & ClientMethod<DescMessage, DescMessage>;
    if (method.methodKind === "bidi_streaming") {
      calls[name] = (events: StreamEvents<DescMessage>) => callBothWays(peer, method, events);
      continue;
    }
    const call = method.methodKind === "unary" ? callUnary : callServerStream;
    calls[name] = (request: MessageInitShape<DescMessage>, options?: CallOptions) =>
      call(peer, method, request, options);
  }
  // Built from the same descriptor the type is computed from.
  return calls as Calls<Service>;
}
