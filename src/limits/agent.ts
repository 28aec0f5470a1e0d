const KIB = 1024;
const MIB = 1024 * KIB;

/** Agents and their sessions. */
export const agentLimits = {
  agentSessionsMax: 20_000,
  heartbeatIntervalMs: 5_000, // of one agent, while there are few
  heartbeatIntervalMsMax: 20_000, // of one agent, while there are many
  heartbeatsPerSecondMax: 500, // of all agents, unless their intervals would become too long
  helloTimeoutMs: 10_000, // for Hello and Welcome, as long as no byte comes
  silenceSlackMs: 10_000, // on top of two missed heartbeats
  silenceConfirmMs: 1_000, // on top of that, to read what arrived while this process did not run
  nodeLostAfterMs: 60_000, // from the last sign of life of a node
  reconnectDelayMsMin: 200,
  reconnectDelayMsMax: 10_000,
  reportEventsPerMessageMax: 5_000,
  workItemsPerMessageMax: 2_000,
  unacknowledgedReportsMax: 64,
  runsPerAgentMax: 100_000,
  probeDelayMsMin: 500, // after a probe of a node that cannot start processes failed; doubling
  probeDelayMsMax: 15_000,
  probeMsMax: 30_000, // for the process of one probe to end
  diskFreeBytesMin: 4 * MIB, // where an agent keeps its runs; a small disk counts as full at a 64th of it
  diskCheckMs: 5, // for so long one look at the free space serves all starts
  startReportDelayMs: 20, // a run that has ended by then is reported once
  reportCoalesceMs: 2, // while an earlier batch of reports is on its way
  startsPerSliceMax: 16, // runs an agent starts before it looks at the link again
  stopsPerSliceMax: 128, // runs an agent stops before it does; before any start
  clusterRefreshMs: 15_000, // until an agent of a cluster tells its state again
  clusterRefreshMsMin: 1_000, // and at least so long, however much happens
  leaseMsMin: 1_000,
  takenRunsMax: 20_000, // of one agent of a cluster, that have not ended
} as const;
