import { invariant } from "../../lib/invariant.ts";
import { limits } from "../../limits.ts";

/** How long the other end of an agent's link may be silent before it is given up. */
export const silenceMsMax = (heartbeatIntervalMs: number): number =>
  2 * heartbeatIntervalMs + limits.silenceSlackMs;

invariant(
  limits.heartbeatIntervalMsMax < limits.grpcKeepaliveIntervalMs,
  "an agent's heartbeats must spare its connection the server's pings",
);
invariant(
  limits.nodeLostAfterMs > silenceMsMax(limits.heartbeatIntervalMsMax),
  "a silent session must be closed before its node is lost",
);
