const KIB = 1024;
const MIB = 1024 * KIB;

/** Bounds on the spec of one job. */
export const jobLimits = {
  nameLengthMax: 128,
  serviceNameLengthMax: 100, // shorter than a job's name: names of instances append to it
  labelsMax: 64,
  labelLengthMax: 256,
  argumentsMax: 16_384,
  workBytesMax: 1 * MIB, // argv, script and environment of one job together
  envVariablesMax: 1_024,
  containersMax: 16, // of one job, on one node
  mountsMax: 64,
  arrayTasksMax: 1_000_000,
  arrayIndexMax: 999_999_999,
  priorityMax: 1_000_000,
  retriesMax: 1_000,
  resourceNamesMax: 32,
  durationMsMax: 366 * 24 * 3_600_000,
  killGraceMsDefault: 5_000,
  retryBackoffMsDefault: 1_000,
  retryBackoffMsMax: 3_600_000,
  restartBackoffMsDefault: 1_000,
  restartBackoffMsMax: 5 * 60_000,
  restartResetAfterMs: 60_000, // a service that ran this long ran well
  idempotencyKeyLengthMax: 256,
  reasonLengthMax: 1_024,
  progressMessageLengthMax: 200,
  dependenciesPerJobMax: 10_000, // jobs and tasks that one job waits for
  energyMax: Number.MAX_SAFE_INTEGER, // watt-seconds, so that sums are exact
  sharesDefault: 16, // shares at once of a job that does not set its least share
  sharesPerJobMax: 100_000, // the server rejects a greatest share that makes more shares than this
} as const;
