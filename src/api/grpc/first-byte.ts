import type { SecureServerOptions } from "node:http2";
import type { Socket } from "node:net";
import { createSecureContext } from "node:tls";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";

/** Contents of PEM files. */
export interface TlsFiles {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** The authority of callers' certificates: with it, every caller needs one. */
  readonly ca: Buffer | undefined;
}

// The first byte of every TLS connection: a handshake record. HTTP/2 begins with "P".
const HANDSHAKE = 0x16;

/**
 * Detects by the first byte whether a connection is encrypted. Some clients send one request with TLS and the next without, to the same
 * port.
 */
export const byFirstByte =
  (to: { readonly secure: (socket: Socket) => void; readonly plain: (socket: Socket) => void }) =>
  (socket: Socket): void => {
    const late = setTimeout(() => socket.destroy(), limits.firstByteMsMax);
    const stop = (): void => clearTimeout(late);
    const ignore = (): void => undefined; // "close" follows
    socket.once("close", stop);
    socket.on("error", ignore);
    const look = (): void => {
      const first = socket.read(1) as Buffer | null;
      if (first === null) {
        if (!socket.readableEnded) socket.once("readable", look);
        return;
      }
      stop();
      socket.off("error", ignore);
      socket.unshift(first);
      (first[0] === HANDSHAKE ? to.secure : to.plain)(socket);
    };
    socket.once("readable", look);
  };

/** Throws AppError when the files do not match. */
export function secureOptions({ cert, key, ca }: TlsFiles): SecureServerOptions {
  const files = { cert, key, ...(ca === undefined ? {} : { ca }) };
  try {
    createSecureContext(files);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : "unreadable";
    throw invalid("tls", `certificate and key cannot be used: ${why}`);
  }
  return { ...files, requestCert: ca !== undefined, rejectUnauthorized: ca !== undefined };
}
