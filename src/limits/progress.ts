/** How far tasks are: what their agents send of it, and how often the server writes it down. */
export const progressLimits = {
  progressTellMs: 1_000, // at least between two messages of one agent about its runs
  linksPerConnectionMax: 500, // of agents in one process
  simulatedEdgesMax: 20_000,
  edgeTellMs: 1_000, // between two looks at how far simulated edges are
  powerTellMs: 1_000, // at least between two messages of one agent about its power
  progressRunsPerMessageMax: 2_000,
  progressFileBytesMax: 4_096, // read at the end of a file that a task writes
  progressFileKeptBytesMax: 64 * 1_024, // a longer one is emptied
  progressLookMs: 250, // at least between two looks at the file of one run
  progressSettleMs: 10, // from a first write to the look at it: a shell empties a file before it writes
  progressReadsPerLookMax: 1_000,
  progressLeftoversMax: 1_000, // directories of other agents that are looked at when one starts
  progressEventsPerLookMax: 1_000, // beyond, the directory is looked through instead
  progressScanMs: 10_000, // between looks where the system tells of no changes
  progressAlongMs: 100, // at least between two commits that progress goes along with
  progressCommitMs: 1_000, // at least between two commits for what agents tell, and nothing else
  progressTaskMs: 900, // at least between two of one task that its agent tells
  progressPerCommitMax: 2_000,
  progressPendingMax: 100_000, // told and not written down yet
} as const;
