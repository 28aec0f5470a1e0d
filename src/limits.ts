import { invariant } from "./lib/invariant.ts";

const KIB = 1024;
const MIB = 1024 * KIB;

/**
 * Every queue, message, retry and wait has a limit; they live here so that their relations can be
 * checked. Those that people may want to change are also flags of `busbar server` or
 * `busbar agent`; these are the defaults.
 */
export const limits = {
  // What one job may ask for.
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

  // What the control plane holds.
  queuedTasksMax: 20_000_000,
  unfinishedJobsMax: 2_000_000,
  finishedTasksMax: 1_000_000, // older finished jobs are removed beyond this
  finishedAgeMsMax: 7 * 24 * 3_600_000, // and beyond this age
  removalsPerTickMax: 1_000, // finished jobs removed in one go
  groupsMax: 10_000,
  clustersMax: 10_000,
  nodesMax: 20_000,
  lossesMax: 10, // a task whose node was lost this often fails: it may be what kills them
  pastAttemptsKept: 10,

  // The control loop.
  commandsQueuedMax: 100_000,
  commandsPerDrainMax: 2_000,
  changesPerBatchMax: 20_000,
  placementsPerRoundMax: 1_000,
  candidatesPerPlacementMax: 32,
  wakeChecksPerRoundMax: 2_000,

  // The API.
  messageBytesMax: 4 * MIB,
  submitJobsMax: 20_000, // in one call
  pageSizeDefault: 100,
  pageSizeMax: 1_000,
  listScanMax: 50_000, // rows looked at for one page
  watchesMax: 1_000,
  watchHistoryChangesMax: 100_000,
  watchQueueEventsMax: 50_000, // for one watcher that does not read
  waitMsMax: 60_000,

  // Agents.
  agentSessionsMax: 20_000,
  heartbeatIntervalMs: 5_000,
  helloTimeoutMs: 10_000,
  sessionSilenceMs: 20_000,
  nodeLostAfterMs: 60_000,
  reconnectDelayMsMin: 200,
  reconnectDelayMsMax: 10_000,
  reportEventsPerMessageMax: 5_000,
  workItemsPerMessageMax: 2_000,
  unacknowledgedReportsMax: 64,
  runsPerAgentMax: 100_000,

  // Output.
  outputBytesDefault: 16 * MIB, // per stream of one attempt
  outputCheckIntervalMs: 1_000,
  outputChunkBytesMax: 256 * KIB,
  outputWaitMsMax: 20_000,
  outputRequestsPerSessionMax: 256,
  outputKeptRunsMax: 10_000, // on one agent, after the end was acknowledged
  outputKeptBytesMax: 1_024 * MIB,
  outputKeptMsMax: 7 * 24 * 3_600_000,
} as const;

invariant(
  limits.sessionSilenceMs > 3 * limits.heartbeatIntervalMs,
  "a session must miss several heartbeats before it is given up",
);
invariant(
  limits.nodeLostAfterMs > limits.sessionSilenceMs,
  "a silent session must be closed before its node is lost",
);
invariant(
  limits.nodeLostAfterMs > limits.reconnectDelayMsMax,
  "an agent must get a chance to come back before its node is lost",
);
invariant(
  limits.outputChunkBytesMax < limits.messageBytesMax,
  "a chunk of output must fit a message",
);
invariant(
  limits.workBytesMax < limits.messageBytesMax,
  "the largest job must fit a message",
);
invariant(limits.pageSizeDefault <= limits.pageSizeMax, "the default page must be allowed");
