import { GRPC } from "../../lib/grpc/status-codes.ts";
import { CallError } from "./call-error.ts";
import type { CallEvents, OpenCall } from "./open-call.ts";

/** A call on a channel that was closed before. */
export function closedCall(events: CallEvents): OpenCall {
  const error = new CallError(GRPC.CANCELLED, "the client is closed");
  queueMicrotask(() => events.onEnd(error));
  const nothing = (): void => undefined;
  return { send: nothing, finish: nothing, cancel: nothing, pause: nothing, resume: nothing };
}
