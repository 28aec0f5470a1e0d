import { invariant } from "../../../lib/invariant.ts";
import { formatDuration } from "../../../lib/units.ts";
import { limits } from "../../../limits.ts";

/**
 * The times by which the two ends of a connection to an agent check each other. The server chooses
 * absent ones.
 */
export interface LinkTimes {
  /** The time without traffic after which an agent sends a heartbeat. */
  readonly heartbeatMs?: number | undefined;
  /** How long the peer may be silent before the connection is closed. */
  readonly silenceMs?: number | undefined;
}

/** How long the other end of an agent's connection may be silent before it is closed. */
export const silenceMsMax = (heartbeatIntervalMs: number, times: LinkTimes = {}): number =>
  times.silenceMs ?? 2 * heartbeatIntervalMs + limits.silenceSlackMs;

/** A connection is closed after some missed heartbeats: one may be late. */
export const silenceMsMin = (heartbeatMs: number): number =>
  limits.heartbeatsPerSilenceMin * heartbeatMs;

/** Why these times contradict each other, with both and the correct ones; undefined: they do not. */
export function linkTimesProblem(
  { heartbeatMs, silenceMs }: LinkTimes,
  lostAfterMs?: number,
): string | undefined {
  const { heartbeatMsMin, heartbeatMsMax } = limits;
  if (
    heartbeatMs !== undefined &&
    !(heartbeatMs >= heartbeatMsMin && heartbeatMs <= heartbeatMsMax)
  ) {
    const [least, most] = [formatDuration(heartbeatMsMin), formatDuration(heartbeatMsMax)];
    return `a heartbeat of ${formatDuration(heartbeatMs)} is not within ${least} and ${most}`;
  }
  const beatMs = heartbeatMs ?? limits.heartbeatIntervalMs;
  const leastMs = silenceMsMin(beatMs);
  const beat = formatDuration(beatMs);
  if (silenceMs !== undefined && silenceMs < leastMs) {
    const silence = formatDuration(silenceMs);
    const right = `a silence of at least ${formatDuration(leastMs)}, or a shorter heartbeat`;
    return `a silence of ${silence} is too short for a heartbeat of ${beat}: ${right}`;
  }
  if (silenceMs !== undefined && silenceMs > limits.silenceMsMax) {
    return `a silence of ${formatDuration(silenceMs)} is longer than ${formatDuration(limits.silenceMsMax)}`;
  }
  const quietMs = silenceMsMax(beatMs, { silenceMs });
  if (lostAfterMs === undefined || lostAfterMs > quietMs) return undefined;
  return (
    `the node would count as lost after ${formatDuration(lostAfterMs)}, before its link is closed after a ` +
    `silence of ${formatDuration(quietMs)}: choose more than ${formatDuration(quietMs)}, or a shorter silence`
  );
}

invariant(
  limits.heartbeatIntervalMsMax < limits.grpcKeepaliveIntervalMs,
  "an agent's heartbeats must spare its connection the server's pings",
);
invariant(
  limits.nodeLostAfterMs > silenceMsMax(limits.heartbeatIntervalMsMax),
  "a silent session must be closed before its node is lost",
);
invariant(
  silenceMsMin(limits.heartbeatIntervalMs) < silenceMsMax(limits.heartbeatIntervalMs),
  "the default silence must allow for some missed heartbeats",
);
