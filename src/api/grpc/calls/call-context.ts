import type { IncomingHttpHeaders } from "node:http2";
import type { Principal } from "../../../core/access/principal.ts";

/** The caller, and the headers and connection of the request. */
export interface CallContext {
  readonly principal: Principal;
  readonly headers: IncomingHttpHeaders;
  /** Address and port of the caller. */
  readonly peer: string;
  /** The same object for all calls of one connection. */
  readonly connection: object;
}

/** For a unary call. */
export interface UnaryContext extends CallContext {
  /** Whether the caller still waits for the answer. */
  readonly isAwaited: boolean;
  /** Resolves when the call is over: whether a whole answer was sent, without an error, and the caller did not give up meanwhile. Not while it does not read. */
  delivered(): Promise<boolean>;
}

export interface CallListener {
  /** The request is one message, which is in use until the answer. */
  readonly takesOne?: boolean;
  /** Not called while the call is paused. */
  message(bytes: Buffer): void;
  /** The caller will send no more. */
  finished(): void;
  /** Called once, when the call is over for whatever reason: nothing can be sent any more. */
  closed(): void;
}
