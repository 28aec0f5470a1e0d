import { invariant } from "../lib/invariant.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Those of `limits` that are about links to agents, which may be thin (docs/design/thin-links.md). */
export const linkLimits = {
  greetingMsMax: 60_000, // for Hello and Welcome, while bytes come
  nodeLogBurstMs: 5_000, // of nodes that go away or return within this time:
  nodeLogLinesMax: 20, // so many have a line of their own in the log, and
  nodeLogNamesMax: 100, // so many are named in one line together
  clockOffsetMsMax: 2_000, // between an agent's clock and the server's, until a warning
  heartbeatsUnansweredMax: 16, // remembered by an agent until their answers come
  clockDriftMax: 0.000_2, // of a clock that nobody sets, per millisecond
  linkQueueMs: 250, // so long may a small message wait behind larger ones
  linkWindowBytesMin: 4 * KIB, // under way and not seen by the other end
  linkWindowBytes: 16 * KIB, // the same, before the link's speed is known
  linkWindowBytesMax: MIB,
  linkPartBytesMin: KIB,
  linkPartBytesMax: 64 * KIB,
  linkRoundTripMsMax: 30_000, // then the shortest round trip is measured again
  specInlineBytesMax: 4 * KIB, // of a spec that goes with its starts; larger ones go in parts
  packedSpecBytesMax: 128 * MIB, // under way to all agents
  packedSpecIdleBytesMax: 16 * MIB, // of which no agent gets any at the moment
  heldSpecBytesMax: 32 * MIB, // of specs that one agent keeps across sessions
  heldSpecsMax: 64,
  heartbeatMsMin: 250, // that may be asked for
  heartbeatMsMax: 600_000,
  silenceMsMax: 3_600_000, // that may be asked for
  heartbeatsPerSilenceMin: 3, // so many heartbeats may be missed before a link is given up
  keepaliveMsMin: 1_000, // that may be asked for
  serverAddressesMax: 64, // of one server, as given and as names have them
  serverTryMs: 2_000, // for one of several addresses to take a connection of a command
  outputTurnMsMax: 600_000, // for a reader of output, while others read from the same node
  outputResumeMsMax: 60_000, // for a node to come back in the middle of an output
  bandwidthBytesMin: 1 * KIB, // a second, of outputs
} as const;

invariant(
  linkLimits.linkWindowBytesMin < linkLimits.linkWindowBytes &&
    linkLimits.linkWindowBytes < linkLimits.linkWindowBytesMax &&
    linkLimits.linkPartBytesMin < linkLimits.linkPartBytesMax,
  "windows and parts must be able to grow",
);
