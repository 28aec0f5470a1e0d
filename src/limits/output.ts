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
