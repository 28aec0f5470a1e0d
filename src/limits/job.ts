const KIB = 1024;
const MIB = 1024 * KIB;

/** What one job may ask for. */
export const jobLimits = {
  nameLengthMax: 128,
  labelsMax: 64,
  labelLengthMax: 256,
  argumentsMax: 16_384,
  workBytesMax: 1 * MIB, // argv, script and environment of one job together
  envVariablesMax: 1_024,
  arrayTasksMax: 1_000_000,
  arrayIndexMax: 999_999_999,
  priorityMax: 1_000_000,
  retriesMax: 1_000,
  resourceNamesMax: 32,
  durationMsMax: 366 * 24 * 3_600_000,
  killGraceMsDefault: 5_000,
  retryBackoffMsDefault: 1_000,
  retryBackoffMsMax: 3_600_000,
  idempotencyKeyLengthMax: 256,
  reasonLengthMax: 1_024,
  dependenciesPerJobMax: 10_000, // jobs and tasks that one job waits for
} as const;
