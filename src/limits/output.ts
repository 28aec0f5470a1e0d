import { invariant } from "../lib/invariant.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Output of tasks. */
export const outputLimits = {
  outputBytesDefault: 16 * MIB, // per stream of one attempt
  outputBytesMax: 16 * 1_024 * MIB,
  outputCheckIntervalMs: 1_000,
  outputChunkBytesMax: 256 * KIB,
  outputWaitMsMax: 20_000,
  placedPollMs: 100, // how often a reader of output checks whether its task was placed
  outputPollMs: 50, // only while a reader waits for more
  outputRequestsPerSessionMax: 256,
  outputKeptRunsMax: 10_000, // retained on one agent after the server acknowledged the end
  outputKeptRunsLimit: 1_000_000, // the most that an agent can be configured to retain: each has a directory and 200 bytes of memory
  outputKeptBytesMax: 1_024 * MIB,
  outputKeptMsMax: 7 * 24 * 3_600_000,
  outputKeptFailedFactor: 4, // output of failed tasks is retained so many times as long
  outputRemovalsMax: 20_000, // removed outputs of which an agent remembers when and why
} as const;

/** Clients of running tasks (docs/design/attached-runs.md). */
export const attachLimits = {
  attachWindowBytes: 256 * KIB, // of one direction, under way from end to end; WINDOW in attach.c
  attachPartBytes: 16 * KIB, // of one message that a client sends
  attachPartBytesMax: 64 * KIB, // of one message that the server accepts; DATA_MAX in attach.c
  attachStreamsMax: 256, // of one server
  attachStreamsPerAgentMax: 64,
  attachConnectMsMax: 20_000, // for a new run to start to listen
  attachConnectPollMs: 20,
  attachEndMsMax: 10_000, // for the rest of a terminal's output after its job has ended
  hangUpMsDefault: 60_000,
  hangUpMsMin: 1_000,
  hangUpMsMax: 24 * 3_600_000,
} as const;

invariant(
  attachLimits.attachPartBytes <= attachLimits.attachPartBytesMax &&
    2 * attachLimits.attachPartBytesMax <= attachLimits.attachWindowBytes,
  "a window must hold several parts",
);
