import { AppError } from "../../../../lib/errors.ts";
import type { Logger } from "../../../../ports/logger.ts";
import type { OperationsAccess } from "../../../../server/operations/operations.ts";
import type { Identify } from "../../../grpc/identify.ts";
import type { CallMemory } from "../../../grpc/memory/call-memory.ts";
import type { Traffic } from "../../../grpc/traffic.ts";

/** The context that the routes share. */
export interface HttpHost {
  readonly operations: OperationsAccess;
  readonly identify: Identify;
  readonly logger: Logger;
  readonly traffic: Traffic;
  readonly memory: CallMemory;
  /** Ends the open streams when the server does. */
  readonly streams: OpenStreams;
}

/** Ensures that every stream is notified once when the server stops. */
export class OpenStreams {
  readonly #open = new Set<AbortController>();
  #reason: AppError | undefined;

  get isClosing(): boolean {
    return this.#reason !== undefined;
  }

  open(): AbortController {
    const stream = new AbortController();
    if (this.#reason !== undefined) throw this.#reason;
    this.#open.add(stream);
    stream.signal.addEventListener("abort", () => this.#open.delete(stream), { once: true });
    return stream;
  }

  close(): void {
    this.#reason ??= new AppError("unavailable", "the server is stopping; try again soon");
    for (const stream of this.#open) stream.abort(this.#reason);
  }
}
