import { type ClientHttp2Session, connect as connectHttp2 } from "node:http2";
import { connect as connectSocket } from "node:net";
import { type Address, formatAddress } from "../../lib/address.ts";
import { limits } from "../../limits.ts";
import { proxyFor } from "./proxy.ts";
import { connectThrough, type ServerStream } from "./tunnel.ts";

/** An HTTP/2 connection to a server that is being made, or stands. Calls may be opened at once. */
export interface Connection {
  readonly session: ClientHttp2Session;
  /** Why no further call may be opened; undefined while it may be used. */
  readonly failure: Error | undefined;
  /** Bytes that arrived, those of incomplete messages too. */
  bytesReceived(): number;
  /** Closes it when its calls have ended, and after a while in any case. */
  close(): void;
}

/** Connects without TLS, through a proxy where the environment names one for this address. */
export function dial(address: Address): Connection {
  const { stream, bytesRead } = streamTo(address);
  const session = connectHttp2(`http://${formatAddress(address)}`, {
    createConnection: () => stream,
    maxSessionMemory: limits.grpcSessionBytesMax / 1_000_000,
    settings: { enablePush: false },
  });
  let failure: Error | undefined;
  session.on("error", (error: Error) => (failure ??= error));
  session.on("goaway", () => (failure ??= new Error("the server is closing the connection")));
  session.on("close", () => (failure ??= new Error("the connection was closed")));
  return {
    session,
    get failure() {
      return failure;
    },
    bytesReceived: bytesRead,
    close() {
      if (session.destroyed || session.closed) return;
      session.close();
      const late = setTimeout(() => session.destroy(), limits.drainMsMax);
      late.unref();
      session.once("close", () => clearTimeout(late));
    },
  };
}

function streamTo(address: Address): ServerStream {
  const proxy = proxyFor(address, process.env);
  if (proxy !== undefined) return connectThrough(proxy, address);
  const stream = connectSocket(address);
  return { stream, bytesRead: () => stream.bytesRead };
}
