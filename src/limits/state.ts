const KIB = 1024;
const MIB = 1024 * KIB;

/** State of the control plane. */
export const stateLimits = {
  queuedTasksMax: 20_000_000,
  unfinishedJobsMax: 2_000_000,
  finishedTasksMax: 1_000_000, // beyond this the server removes the oldest finished jobs
  finishedAgeMsMin: 60_000, // a client that waits for a job must see its end
  finishedAgeMsMax: 7 * 24 * 3_600_000, // the server removes older finished jobs
  unfoldedJobsMax: 50_000, // pending and stored; beyond this the oldest are folded at once
  foldAfterMs: 300, // without a commit
  foldsPerSliceMax: 5_000,
  endedFoldsPerSliceMax: 1_000,
  knownTermsMax: 1_000, // different terms that the loader recognises by the beginning of a row
  readBackCharsMax: 32 * MIB, // of rows of jobs that are not folded before all rows are read back
  foldedJobCharsMax: 64 * KIB, // of a row; queued jobs with longer ones stay records
  unfoldedEndedJobsMax: 20_000, // ended and stored; beyond this the oldest are folded at once
  foldedTaskRowsMax: 128, // of an ended job; arrays with more keep columns
  taskOutcomesMax: 1_000, // of one array, or of a block of ended jobs; other rows stay text
  acceptedSilenceMsMax: 7 * 24 * 3_600_000, // an accepted task fails when its cluster reports nothing for this long
  takeLooksMax: 10_000, // offered tasks that the server looks at when an agent of a cluster accepts some
  keptBackLooksMax: 50_000, // offered tasks that the server skips because they are on hold or their group is paused
  tasksPerTakeMax: 10_000,
  offeredPageDefault: 100,
  offeredPageMax: 10_000, // also of tasks that a cluster accepts or reports at once
  reportedOutputCharsMax: 8_192, // of each stream of a task, reported by the cluster that ran it
  reportedCharsTotalMax: 64 * MIB,
  removalsPerTickMax: 1_000, // finished jobs that one tick removes
  entriesCharsMax: MIB, // of all entries of a job together
  heldSpansMax: 256, // ranges of tasks of one array that are on hold
  groupsMax: 10_000,
  metricGroupsMax: 100, // groups with their own series in /metrics
  metricSeriesMax: 100, // pairs of group and cluster with their own task times in /metrics
  nodesMax: 20_000,
  dependenciesPerSubmissionMax: 200_000,
  nameSearchJobsMax: 1_000_000, // the newest jobs, searched by the hashes of their names for a name in a dependency
  nameSuggestionsMax: 1_000, // names that a misspelt name is compared with
  cycleShownMax: 10, // names of a dependency cycle
  dependenciesShownMax: 100, // of one job, in its explanation
  condensedPerTickMax: 1_000, // rewritten jobs that depend on removed ones, in one tick
  clustersMax: 10_000,
  alternativeClustersMax: 8, // of a job, used when its cluster is deleted
  knownCandidateListsMax: 32, // the most recent lists of clusters to choose from, remembered
  knownClusterSpecsMax: 1_024, // the most recent pairs of a jobspec and the cluster that was chosen for it, shared by their jobs
  sharedSpecCharsMax: 4 * KIB, // of a jobspec whose row is written from a text that its jobs share
  clustersExplainedMax: 100, // in the explanation of one job
  chainExplainedMax: 100, // jobs that depend on each other
  classesExplainedMax: 300, // kinds of nodes whose graphs are compared with one request to explain it
  tasksExplainedMax: 50_000, // running tasks whose end may let one request start
  matchesPerSliceMax: 200, // of one request with graphs of nodes, before other work has its turn
  knownGraphRequestsMax: 256, // the most recently prepared requests, shared by equal ones
  poolsPerPlaceMax: 16, // for different requests to one cluster, one label or all nodes; more requests share one pool
  emptyPoolsMax: 128, // pools without nodes and without queued requests, retained for the next request
  graphMatchesKnownMax: 250_000, // results of matching node graphs with requests, about 200 bytes each
  matchedRequestsMax: 16, // of one submission, matched with all graphs before the loop decides it
  changeChecksMax: 100_000, // of kinds of nodes, to find the change that would let one request start
  trialPlacementsMax: 1_000, // tasks in one trial
  trialsExplainedMax: 20, // jobs of one trial whose reason to stay pending is shown
  possibleKnownMax: 50_000, // kinds of requests that are known to be satisfiable or not
  possibleKnownCharsMax: 16 * MIB, // of the text of these requests
  lossesMax: 10, // a task fails when its node was lost this often: the task may be the cause
  poisonWithinMs: 10_000, // a task of a service may be the cause when its node dies this soon after the start
  poisonNodesMax: 3, // the task fails after so many different nodes in a row
  poisonLossesMax: 10, // or after so many losses on fewer nodes
  servicesMax: 10_000,
  replicasMax: 10_000, // of one service
  instancesMax: 200_000, // of all services, named and counted ones
  instancesPerCallMax: 1_000, // that one call names, adds or removes
  instanceCharsAtOnceMax: 4 * MIB, // of templates, of the instances that one decision creates
  instancesPerStepMax: 64, // that one decision creates, stops or removes
  templatesKept: 5, // retained earlier templates of one service
  templateCharsMax: 256 * KIB,
  unavailableMax: 1_000, // instances of one service that a rollout may replace at once
  minReadyMsDefault: 5_000,
  rolloutFailuresDefault: 3,
  rolloutFailuresMax: 1_000,
  serviceRetryMs: 5_000, // until the server tries a service again whose jobs were rejected
  powerlessMsMax: 60_000, // the server takes a share back when its node has had no power for this long
  sharesLostMax: 1_000, // of one job without progress: the job then fails, since it may kill its nodes
  returnsMax: 50, // a task fails when nodes could not start it this often: the task may be the cause
  returnsAtOnceMax: 8, // after so many the task waits before it is placed again:
  returnBackoffMs: 250, // doubling
  returnBackoffMsMax: 60_000,
  quickFailureMs: 1_000, // when a task fails sooner after its start, the node may be to blame
  quarantineJobs: 5, // different jobs that fail this way, one after the other, quarantine a node
  quarantineWindowMs: 10 * 60_000, // older failures do not count
  quarantineMs: 30_000, // until a quarantined node is assigned one task; doubling when that task fails too
  quarantineMsMax: 3_600_000,
  suspectJobsPerNodeMax: 20, // that failed this way since a task last succeeded on the node
  suspectJobsMax: 1_000, // on all nodes: to tell jobs that fail everywhere from nodes where every job fails
  pastAttemptsKept: 10,
  usageExactUsMax: 2 ** 31 - 1, // about 35 minutes; longer times are stored in whole milliseconds
  usageMax: 2 ** 50, // of each number of one attempt (35 years in us); larger numbers count as unknown
} as const;
