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
  placedPollMs: 100, // how often a reader of output looks whether its task was placed
  outputPollMs: 50, // only while someone waits for more
  outputRequestsPerSessionMax: 256,
  outputKeptRunsMax: 10_000, // on one agent, after the end was acknowledged
  outputKeptRunsLimit: 1_000_000, // that an agent may be told to keep: each has a directory and 200 bytes of memory
  outputKeptBytesMax: 1_024 * MIB,
  outputKeptMsMax: 7 * 24 * 3_600_000,
  outputKeptFailedFactor: 4, // of failed tasks so many times as long
  outputRemovalsMax: 20_000, // of which an agent remembers when and why
} as const;

/** Clients of running tasks (docs/design/attached-runs.md). */
export const attachLimits = {
  attachWindowBytes: 256 * KIB, // of one direction, under way from end to end; WINDOW in attach.c
  attachPartBytes: 16 * KIB, // of one message that a client makes
  attachPartBytesMax: 64 * KIB, // of one that is taken; DATA_MAX in attach.c
  attachStreamsMax: 256, // of one server
  attachStreamsPerAgentMax: 64,
  attachConnectMsMax: 20_000, // for a run that has just begun to listen
  attachConnectPollMs: 20,
  attachEndMsMax: 10_000, // for the rest of a terminal's output, when its job has ended
  hangUpMsDefault: 60_000,
  hangUpMsMin: 1_000,
  hangUpMsMax: 24 * 3_600_000,
} as const;

invariant(
  attachLimits.attachPartBytes <= attachLimits.attachPartBytesMax &&
    2 * attachLimits.attachPartBytesMax <= attachLimits.attachWindowBytes,
  "a window must hold several parts",
);
