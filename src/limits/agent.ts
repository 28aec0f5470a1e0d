const KIB = 1024;
const MIB = 1024 * KIB;

/** Agents and their sessions. */
export const agentLimits = {
  agentSessionsMax: 20_000,
  heartbeatIntervalMs: 5_000, // of one agent, while there are few agents
  heartbeatIntervalMsMax: 20_000, // of one agent, while there are many agents
  heartbeatsPerSecondMax: 500, // of all agents, unless their intervals would become too long
  helloTimeoutMs: 10_000, // for Hello and Welcome, while no byte arrives
  silenceSlackMs: 10_000, // on top of two missed heartbeats
  silenceConfirmMs: 1_000, // on top of that, to read messages that arrived while this process did not run
  nodeLostAfterMs: 60_000, // from the last sign of life of a node
  reconnectDelayMsMin: 200,
  reconnectDelayMsMax: 10_000,
  reportEventsPerMessageMax: 5_000,
  workItemsPerMessageMax: 2_000,
  unacknowledgedReportsMax: 64,
  runsPerAgentMax: 100_000,
  probeDelayMsMin: 500, // after a failed probe of a node that cannot start processes; doubling
  probeDelayMsMax: 15_000,
  probeMsMax: 30_000, // for the process of one probe to end
  diskFreeBytesMin: 4 * MIB, // on the file system with the agent's runs; a small disk counts as full at a 64th of its size
  diskCheckMs: 5, // one look at the free space serves all starts for this long
  startReportDelayMs: 20, // a run that ends within this time is reported once
  reportCoalesceMs: 2, // while an earlier batch of reports is on its way
  startsPerSliceMax: 16, // runs that an agent starts before it reads the link again
  stopsPerSliceMax: 128, // runs that an agent stops before it reads the link again; stops go before starts
  clusterRefreshMs: 15_000, // between two reports of the state of a cluster by its agent
  clusterRefreshMsMin: 1_000, // the shortest time between two such reports, however much happens
  leaseMsMin: 1_000,
  takenRunsMax: 20_000, // accepted runs that have not ended, of one agent of a cluster
} as const;
