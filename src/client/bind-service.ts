import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { Busbar, WatchEvent } from "../gen/busbar/v1/busbar_pb.ts";
import { type Address, parseAddress } from "../lib/address.ts";
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
import type { BusbarClient, ClientOptions } from "./client.ts";
import type { CallChannel } from "./grpc/open-call.ts";
import { busbarMethods } from "./methods.ts";

/** The default time limit of a unary call. */
const TIMEOUT_MS_DEFAULT = 30_000;

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
    : (events: StreamEvents<MessageShape<M["output"]>>) => OpenStream<MessageInitShape<M["input"]>>;

/** Every method of a service by its name: `submitJobs({ jobs: [...] })`. */
export type Calls<Service extends { readonly method: Record<string, AnyMethod> }> = {
  readonly [Name in keyof Service["method"]]: Call<Service["method"][Name]>;
};

/** Busbar's native API over a channel to its server. */
export function bindClient(
  Channel: new (address: Address) => CallChannel,
  options: ClientOptions,
): BusbarClient {
  const channel = new Channel(parseAddress(options.server, "server"));
  const { server, timeoutMs = TIMEOUT_MS_DEFAULT } = options;
  const calls = bindService<typeof Busbar>(busbarMethods(), { channel, server, timeoutMs });
  const watch: BusbarClient["watch"] = (request, options) =>
    singly(calls.watch({ ...request, batches: true }, options));
  return { ...calls, watch, server, close: () => channel.close() };
}

/** Batches cost the server less; the reader's loop receives the events one by one. */
async function* singly(
  events: AsyncGenerator<WatchEvent, void, undefined>,
): AsyncGenerator<WatchEvent, void, undefined> {
  for await (const event of events) {
    if (event.event.case === "batch") yield* event.event.value.events;
    else yield event;
  }
}

export interface ServiceMethod extends ClientMethod {
  readonly kind: AnyMethod["methodKind"];
}

/** A function for each method. */
export function bindService<Service extends { readonly method: Record<string, AnyMethod> }>(
  methods: ReadonlyMap<string, ServiceMethod>,
  peer: Peer,
): Calls<Service> {
  const calls: Record<string, unknown> = {};
  for (const [name, method] of methods) {
    if (method.kind === "bidi_streaming") {
      calls[name] = (events: StreamEvents<object>) => callBothWays(peer, method, events);
      continue;
    }
    const call = method.kind === "unary" ? callUnary : callServerStream;
    calls[name] = (request: object, options?: CallOptions) => call(peer, method, request, options);
  }
  // The methods are those of the schema that the type is computed from.
  return calls as Calls<Service>;
}
