import { invariant } from "../lib/invariant.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Links to agents, which may be slow (docs/design/thin-links.md). */
export const linkLimits = {
  greetingMsMax: 60_000, // for Hello and Welcome, while bytes arrive
  nodeLogBurstMs: 5_000, // when many nodes disconnect or return within this time:
  nodeLogLinesMax: 20, // so many have a log line each, and
  nodeLogNamesMax: 100, // so many are named together in one line
  clockOffsetMsMax: 2_000, // between an agent's clock and the server's; beyond it the server warns
  heartbeatsUnansweredMax: 16, // heartbeats that an agent remembers until their answers arrive
  clockDriftMax: 0.000_2, // of a monotonic clock, per millisecond
  linkQueueMs: 250, // a small message may wait this long behind larger ones
  linkWindowBytesMin: 4 * KIB, // under way and not acknowledged by the other end
  linkWindowBytes: 16 * KIB, // the same, before the speed of the link is known
  linkWindowBytesMax: MIB,
  linkPartBytesMin: KIB,
  linkPartBytesMax: 64 * KIB,
  linkRoundTripMsMax: 30_000, // after that the shortest round trip is measured again
  specInlineBytesMax: 4 * KIB, // of a spec that goes with its starts; larger specs go in parts
  packedSpecBytesMax: 128 * MIB, // of packed specs under way to all agents
  packedSpecIdleBytesMax: 16 * MIB, // of packed specs that no agent receives at the moment
  heldSpecBytesMax: 32 * MIB, // of specs that one agent retains across sessions
  heldSpecsMax: 64,
  heartbeatMsMin: 250, // the shortest interval that may be requested
  heartbeatMsMax: 600_000,
  silenceMsMax: 3_600_000, // the longest that may be requested
  heartbeatsPerSilenceMin: 3, // an agent may miss so many heartbeats before its link is given up
  keepaliveMsMin: 1_000, // the shortest that may be requested
  serverAddressesMax: 64, // of one server, given by flags or found by name
  serverTryMs: 2_000, // for one of several addresses to accept a connection of a command
  outputTurnMsMax: 600_000, // for one reader of output, while others read from the same node
  outputResumeMsMax: 60_000, // for a node to reconnect in the middle of an output
  bandwidthBytesMin: 1 * KIB, // per second, of outputs
} as const;

invariant(
  linkLimits.linkWindowBytesMin < linkLimits.linkWindowBytes &&
    linkLimits.linkWindowBytes < linkLimits.linkWindowBytesMax &&
    linkLimits.linkPartBytesMin < linkLimits.linkPartBytesMax,
  "windows and parts must be able to grow",
);
