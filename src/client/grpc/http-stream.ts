import type { IncomingHttpHeaders } from "node:http2";

/** How a stream ended that had no trailers. */
export interface StreamLoss {
  /** Whether the whole connection is gone. */
  readonly isConnectionGone: boolean;
  /** With which the server reset the stream. */
  readonly resetCode: number | undefined;
  readonly cause: Error | undefined;
}

export interface HttpStreamEvents {
  onHeaders(headers: IncomingHttpHeaders): void;
  onData(chunk: Buffer): void;
  onTrailers(headers: IncomingHttpHeaders): void;
  /** All data was read; trailers may have come before. */
  onDataEnd(): void;
  /** Called last. */
  onClose(loss: StreamLoss): void;
}

/** One request of HTTP/2 under way. */
export interface HttpStream {
  write(bytes: Buffer): void;
  end(): void;
  cancel(): void;
  pause(): void;
  resume(): void;
}

/** Opens streams. No event comes before `request` returned. */
export interface HttpConnection {
  request(headers: Readonly<Record<string, string>>, events: HttpStreamEvents): HttpStream;
}
