import type { IncomingHttpHeaders } from "node:http2";
import { GRPC } from "../../lib/grpc/status-codes.ts";

/** How a failed call ended: the server's own message, or why there is none. */
export class CallError extends Error {
  /** A status code of gRPC. */
  readonly code: number;
  readonly details: string;
  /** The metadata of the server's status; empty when no server answered. */
  readonly metadata: IncomingHttpHeaders;

  constructor(code: number, details: string, options: CallErrorOptions = {}) {
    super(`${nameOf(code)}: ${details}`, { cause: options.cause });
    this.code = code;
    this.details = details;
    this.metadata = options.metadata ?? {};
  }
}

interface CallErrorOptions {
  readonly cause?: unknown;
  readonly metadata?: IncomingHttpHeaders;
}

const nameOf = (code: number): string =>
  Object.entries(GRPC).find(([, known]) => known === code)?.[0] ?? `status ${code}`;
