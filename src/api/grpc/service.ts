import type { DescMessage, DescService, MessageShape } from "@bufbuild/protobuf";
import type { Principal } from "../../core/access/principal.ts";
import type { AppError } from "../../lib/errors.ts";
import { unreachable } from "../../lib/invariant.ts";
import { limits } from "../../limits.ts";
import type { Logger } from "../../ports/logger.ts";
import { bidiHandler, type Connect } from "./calls/bidi.ts";
import type { GrpcCall } from "./calls/call.ts";
import type { CallContext } from "./calls/call-context.ts";
import { type Method, pathOf } from "./calls/codec.ts";
import type { BytesMethod } from "./calls/bytes-method.ts";
import { PushedFrames, pushHandler } from "./calls/pushed-frames.ts";
import { streamHandler } from "./calls/stream.ts";
import { unaryHandler } from "./calls/unary.ts";
import { type GrpcStatus, toGrpcStatus } from "./status.ts";
import type { Traffic } from "./traffic.ts";

export interface StreamContext extends CallContext {
  /** Aborts when the caller has disconnected or the server stops: a source must end then. */
  readonly signal: AbortSignal;
}

interface AnyMethod {
  readonly methodKind: Method["methodKind"];
  readonly input: DescMessage;
  readonly output: DescMessage;
}
type Input<M extends AnyMethod> = MessageShape<M["input"]>;
type Output<M extends AnyMethod> = MessageShape<M["output"]>;

/**
 * The handler of a method, by its kind. Handlers throw AppError to reject a call.
 * - one answer: a promise of it.
 * - a stream of answers: an AsyncIterable, which is not pulled while the caller does not read; or
 *   frames that many calls share, pushed by their source.
 * - bidirectional: see `Connect`.
 * - a stream of requests with one answer: the same, and the receiver sends the answer when the caller has
 *   finished, and closes.
 */
type Handler<M extends AnyMethod> = {
  readonly unary:
    | ((request: Input<M>, context: CallContext) => Promise<Output<M>>)
    | BytesMethod<M["output"]>;
  readonly server_streaming:
    | ((request: Input<M>, context: StreamContext) => AsyncIterable<Output<M>>)
    | PushedFrames<M["input"], M["output"]>;
  readonly bidi_streaming: Connect<Input<M>, Output<M>>;
  readonly client_streaming: Connect<Input<M>, Output<M>>;
}[M["methodKind"]];

/** Exhaustive by type: a method of the proto does not compile until it has a handler. */
export type Handlers<Service extends { readonly method: Record<string, AnyMethod> }> = {
  readonly [Name in keyof Service["method"]]: Handler<Service["method"][Name]>;
};

/** Answers one call. */
export type Serve = (call: GrpcCall) => void;

/** The handler of the calls of a service, and how its streams end with the server. */
export interface GrpcService {
  readonly descriptor: DescService;
  readonly byPath: ReadonlyMap<string, Serve>;
  /** Asks every open stream to end with this error. Unary calls finish. */
  endStreams(reason: AppError): void;
}

/** The context that the handlers of all methods of one service share. */
export interface ServiceHost {
  readonly logger: Logger;
  readonly traffic: Traffic | undefined;
  /** One entry for each open stream: ends it. */
  readonly openStreams: Set<(reason: AppError) => void>;
  /** The limits of a request and of an answer of this unary method. */
  readonly requestBytesMax: number;
  readonly answerBytesMax: number;
  /** The status of a failed call. */
  readonly toStatus: (error: unknown) => GrpcStatus;
}

/** Methods whose messages may be as large as a document; messages of all others are small. */
interface LargeMessages<Name> {
  readonly requests: readonly Name[];
  readonly answers: readonly Name[];
}

/** A service of a generated descriptor, with our handlers. */
export function defineService<
  Service extends DescService & { readonly method: Record<string, AnyMethod> },
>(
  descriptor: Service,
  handlers: Handlers<Service>,
  options: {
    readonly logger: Logger;
    readonly traffic?: Traffic | undefined;
    readonly large?: LargeMessages<keyof Service["method"]>;
    /** Absent: as in the native API. */
    readonly toStatus?: ServiceHost["toStatus"];
    /** The principal of every caller, whatever its connection shows: for wires with their own rules. */
    readonly principal?: Principal;
  },
): GrpcService {
  const { logger, traffic, large, toStatus = toGrpcStatus, principal } = options;
  const openStreams: ServiceHost["openStreams"] = new Set();
  const bytesMax = (isLarge: boolean | undefined): number =>
    isLarge === true ? limits.documentBytesMax : limits.messageBytesMax;
  const byPath = new Map<string, Serve>();
  for (const [name, described] of Object.entries(descriptor.method)) {
    const method = described as Method;
    const host: ServiceHost = {
      logger,
      traffic,
      openStreams,
      requestBytesMax: bytesMax(large?.requests.includes(name)),
      answerBytesMax: bytesMax(large?.answers.includes(name)),
      toStatus,
    };
    const serve = implement(method, handlers[name as keyof Service["method"]], host);
    byPath.set(pathOf(method), principal === undefined ? serve : servingAs(principal, serve));
  }
  return {
    descriptor,
    byPath,
    endStreams(reason) {
      for (const end of openStreams) end(reason);
    },
  };
}

const servingAs =
  (principal: Principal, serve: Serve): Serve =>
  (call) => {
    call.principal = principal;
    serve(call);
  };

/** The handler's type follows from the method's kind; only the type `Handlers` expresses that. */
function implement(method: Method, handler: unknown, host: ServiceHost): Serve {
  switch (method.methodKind) {
    case "unary":
      return unaryHandler(method, handler as Parameters<typeof unaryHandler>[1], host);
    case "server_streaming":
      if (handler instanceof PushedFrames) return pushHandler(method, handler, host);
      return streamHandler(method, handler as Parameters<typeof streamHandler>[1], host);
    case "client_streaming":
    case "bidi_streaming":
      return bidiHandler(method, handler as Parameters<typeof bidiHandler>[1], host);
    default:
      return unreachable(method.methodKind);
  }
}
