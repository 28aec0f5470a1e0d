/** The control loop, and the start of a server. */
export const loopLimits = {
  sharesPerSplitMax: 256, // of one job, made at once
  commandsQueuedMax: 100_000,
  timerMsMax: 2 ** 31 - 1,
  tickRetryMs: 1_000, // after the loop rejected a tick
  commandsPerDrainMax: 2_000,
  batchesInFlightMax: 2,
  changesInFlightMin: 256, // a smaller batch grows until the one before it is durable
  changesPerBatchMax: 20_000,
  placementsPerRoundMax: 1_000,
  placementRetryMs: 1_000, // after the judge rejected a placement
  refusalLogMs: 60_000, // between two log lines about rejected placements; those in between are counted
  settlementsPerRoundMax: 1_000, // jobs released or skipped before other work has its turn
  candidatesPerPlacementMax: 32,
  wakeChecksPerRoundMax: 2_000,
  upConnectMs: 10_000, // for the agent that `busbar up` starts; after that `up` reports that it runs without one
  startupNoticeMs: 2_000, // until a startup step prints what it waits for
  startupRepeatMs: 10_000, // until it prints that again
  startupStepMsMax: 60_000, // for a step whose work does not grow with the data
} as const;
