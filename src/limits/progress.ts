/** Progress of tasks: how often agents report it, and how often the server stores it. */
export const progressLimits = {
  progressTellMs: 1_000, // at least, between two messages of one agent about its runs
  linksPerConnectionMax: 500, // of agents in one process
  simulatedEdgesMax: 20_000,
  edgeTellMs: 1_000, // between two looks at the progress of simulated edges
  powerTellMs: 1_000, // at least, between two messages of one agent about its power
  progressRunsPerMessageMax: 2_000,
  progressFileBytesMax: 4_096, // read from the end of a file that a task writes
  progressFileKeptBytesMax: 64 * 1_024, // the agent empties a longer file
  progressLookMs: 250, // at least, between two looks at the file of one run
  progressSettleMs: 10, // from a first write to the look at it: a shell empties a file before it writes
  progressReadsPerLookMax: 1_000,
  progressLeftoversMax: 1_000, // directories of other agents that an agent looks at when it starts
  progressEventsPerLookMax: 1_000, // with more events, the agent reads the whole directory instead
  progressScanMs: 10_000, // between looks where the system does not notify us of changes
  progressAlongMs: 100, // at least, between two commits that carry progress along
  progressCommitMs: 1_000, // at least, between two commits that store nothing but progress
  progressTaskMs: 900, // at least, between two stored reports of one task
  progressPerCommitMax: 2_000,
  progressPendingMax: 100_000, // reported and not stored yet
} as const;
