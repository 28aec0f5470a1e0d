import type { IncomingHttpHeaders } from "node:http2";
import type { Socket } from "node:net";
import type { HeaderList } from "./header-list.ts";

/** The receiver of all events of one stream. An object instead of an emitter: a short call has few events, and each emitter costs more. */
export interface RequestStreamEvents {
  /** Not called while the stream is paused. */
  onData(bytes: Buffer): void;
  /** The peer will send no more. */
  onEnd(): void;
  /** After a `write` that returned false: the stream accepts more. */
  onDrain(): void;
  /** Called once: nothing can be sent or received any more. */
  onClose(): void;
}

/**
 * One request on a connection of HTTP/2, and its answer:
 *
 *   respond ──► write* ──► end      or      respondOnly      and at any time: close
 *
 * Calls after the end do nothing.
 */
export interface RequestStream {
  readonly connection: ServerConnection;
  /** Whether neither side has closed or reset it. */
  readonly isOpen: boolean;
  readonly hasResponded: boolean;
  /** The reason of a reset by either side; 0: none. */
  readonly resetCode: number;
  /** Bytes that arrive before this are dropped. */
  listen(events: RequestStreamEvents): void;
  /** The peer may send as much as its window allows, which the stream buffers. */
  pause(): void;
  resume(): void;
  /** Begins the answer. */
  respond(head: HeaderList): void;
  /** The whole answer: headers alone. */
  respondOnly(head: HeaderList): void;
  /** `taken` is called once, when the socket has accepted the bytes or never will. Returns whether to write more now; if not, `onDrain` follows. */
  write(bytes: Buffer, taken?: () => void): boolean;
  /** Several at once. */
  writeAll(parts: readonly Buffer[], taken: () => void): void;
  /** Ends the answer after all written bytes. */
  end(trailers: HeaderList, last?: Buffer): void;
  /** Resets the stream; unsent bytes are dropped. */
  close(code: number): void;
  /**
   * For a stream that is closed after its whole answer. Calls back once: false when the peer resets the stream all the same, as a client does whose
   * time limit has passed meanwhile; true when it has answered a ping sent behind the answer, or has closed the connection. Never, while
   * the peer does not read.
   */
  confirm(received: (isReceived: boolean) => void): void;
}

export interface ServerConnection {
  /** Addresses, bytes and buffers; undefined: it is closed. */
  readonly socket: Socket | undefined;
  /** Calls back once: whether the peer answered before the connection was closed. */
  ping(answered: (isThere: boolean) => void): void;
  /** Accepts no more streams, and ends when the present ones have ended. */
  close(): void;
  destroy(): void;
  /**
   * A call whose stream is closed is still being answered: it counts as an open stream, so that a client that resets its calls cannot have
   * more of them answered than any other. Returns how to end that.
   */
  abandon(): () => void;
}

/** The receiver of all events of one connection. */
export interface ConnectionEvents {
  onStream(stream: RequestStream, headers: IncomingHttpHeaders): void;
  onClose(): void;
}

/** Called for each new connection. */
export type Connected = (connection: ServerConnection, socket: Socket) => ConnectionEvents;
