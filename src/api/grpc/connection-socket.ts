import type { Http2Session } from "node:http2";
import type { Socket } from "node:net";

const sockets = new WeakMap<object, Socket>();

/** For a session that reads through our own stream: Node itself does not know the socket behind it. */
export const rememberSocket = (session: Http2Session, socket: Socket): void =>
  void sockets.set(session, socket);

/** Addresses, bytes and buffers of a connection; undefined: it is closed. */
export const socketOf = (session: Http2Session | undefined): Socket | undefined =>
  session === undefined || session.destroyed ? undefined : (sockets.get(session) ?? session.socket);
