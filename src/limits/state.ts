const KIB = 1024;
const MIB = 1024 * KIB;

/** What the control plane holds. */
export const stateLimits = {
  queuedTasksMax: 20_000_000,
  unfinishedJobsMax: 2_000_000,
  finishedTasksMax: 1_000_000, // older finished jobs are removed beyond this
  finishedAgeMsMin: 60_000, // whoever waits for a job must see its end
  finishedAgeMsMax: 7 * 24 * 3_600_000, // and beyond this age
  unfoldedJobsMax: 50_000, // that wait and were stored; older ones are folded at once
  foldAfterMs: 300, // without anything being stored
  foldsPerSliceMax: 5_000,
  endedFoldsPerSliceMax: 1_000,
  knownTermsMax: 1_000, // different terms that are told by the beginning of a row
  foldedJobCharsMax: 64 * KIB, // of a row; queued jobs with longer ones stay records
  unfoldedEndedJobsMax: 20_000, // ended and stored; older ones are folded at once
  foldedTaskRowsMax: 128, // of an ended job; arrays with more keep columns
  taskOutcomesMax: 1_000, // of one array, or of a block of ended jobs; other rows are kept as text
  handedSilenceMsMax: 7 * 24 * 3_600_000, // what a cluster took and told nothing of has failed then
  takeLooksMax: 10_000, // offered tasks looked at when an agent of a cluster takes some
  keptBackLooksMax: 50_000, // offered tasks passed over because they are on hold or their group is paused
  tasksPerTakeMax: 10_000,
  offeredPageDefault: 100,
  offeredPageMax: 10_000, // also of those that are accepted or reported at once
  toldOutputCharsMax: 8_192, // of each stream of a task, told by the cluster that ran it
  toldCharsTotalMax: 64 * MIB,
  removalsPerTickMax: 1_000, // finished jobs removed in one go
  entriesCharsMax: MIB, // of all entries of a job together
  heldSpansMax: 256, // tasks of one array on hold that do not stand side by side
  groupsMax: 10_000,
  metricGroupsMax: 100, // groups with series of their own in /metrics
  metricSeriesMax: 100, // pairs of group and cluster with times of tasks of their own in /metrics
  nodesMax: 20_000,
  dependenciesPerSubmissionMax: 200_000,
  nameSearchJobsMax: 1_000_000, // the newest, by the hashes of their names, for one that others name
  nameSuggestionsMax: 1_000, // names that a mistyped one is compared with
  cycleShownMax: 10, // names of a circle of dependencies
  dependenciesShownMax: 100, // of one job, when it is explained
  condensedPerTickMax: 1_000, // jobs that wait for what is removed, written anew in one go
  clustersMax: 10_000,
  alternativeClustersMax: 8, // of a job, to go to when its cluster is deleted
  clustersExplainedMax: 100, // that pull, of those that say something to one job
  chainExplainedMax: 100, // jobs that wait for each other
  classesExplainedMax: 300, // kinds of nodes whose graphs are compared with one request in words
  tasksExplainedMax: 50_000, // under way, of those whose end may let one request start
  matchesPerSliceMax: 200, // of one request with graphs of nodes, before others have their turn
  knownGraphRequestsMax: 256, // prepared last, that equal ones share
  poolsPerPlaceMax: 16, // of requests that differ, for one cluster, label or all nodes; more share one
  graphMatchesKnownMax: 250_000, // of graphs of nodes with requests, about 200 bytes each
  matchedRequestsMax: 16, // of one submission, matched with all graphs before it is decided
  changeChecksMax: 100_000, // of kinds of nodes, to find what would let one request start
  trialPlacementsMax: 1_000, // tasks that are tried at once
  trialsExplainedMax: 20, // jobs of one trial of which is told why they would wait
  possibleKnownMax: 50_000, // kinds of requests of which is known whether they could ever be met
  possibleKnownCharsMax: 16 * MIB, // of what they ask for
  lossesMax: 10, // a task whose node was lost this often fails: it may be what kills them
  poisonWithinMs: 10_000, // a node that dies so soon after a task of a service started there may have died of it
  poisonNodesMax: 3, // different nodes in a row: then it fails
  poisonLossesMax: 10, // the same of fewer nodes
  servicesMax: 10_000,
  replicasMax: 10_000, // of one service
  instancesMax: 200_000, // of all services, named and counted
  instancesPerCallMax: 1_000, // named, added or removed at once
  instancesPerStepMax: 64, // that one decision makes, stops or removes
  templatesKept: 5, // former ones of one service
  templateCharsMax: 256 * KIB,
  unavailableMax: 1_000, // instances of one service that a rollout may replace at once
  minReadyMsDefault: 5_000,
  rolloutFailuresDefault: 3,
  rolloutFailuresMax: 1_000,
  serviceRetryMs: 5_000, // a service whose jobs were refused is tried again
  powerlessMsMax: 60_000, // a share whose node has no power for so long is taken back
  sharesLostMax: 1_000, // of one job, with nothing done: then it fails, for it may be what kills their nodes
  returnsMax: 50, // a task that nodes could not start this often fails: it may be what breaks them
  returnsAtOnceMax: 8, // then it waits before it is placed again:
  returnBackoffMs: 250, // doubling
  returnBackoffMsMax: 60_000,
  quickFailureMs: 1_000, // a task that fails sooner after its start may have its node to blame
  quarantineJobs: 5, // different ones that fail so, one after the other, quarantine a node
  quarantineWindowMs: 10 * 60_000, // older failures do not count
  quarantineMs: 30_000, // until a quarantined node gets one task; doubling when that fails, too
  quarantineMsMax: 3_600_000,
  suspectJobsPerNodeMax: 20, // that failed so since something last worked there
  suspectJobsMax: 1_000, // in all: to tell jobs that fail everywhere from nodes where all fail
  pastAttemptsKept: 10,
  usageExactUsMax: 2 ** 31 - 1, // about 35 minutes; longer times are kept in whole milliseconds
  usageMax: 2 ** 50, // of each number of one attempt (35 years in us); what is larger counts as unknown
} as const;
