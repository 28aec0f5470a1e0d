import { aheadLimits } from "./ahead-limits.ts";
import { documentLimits } from "./document-limits.ts";
import { invariant } from "./lib/invariant.ts";
import { linkLimits } from "./link-limits.ts";
import { lowerLimits } from "./lower-limits.ts";
import { storeLimits } from "./store-limits.ts";
import { watchLimits } from "./watch-limits.ts";

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
  reasonLengthMax: 1_024,
  dependenciesPerJobMax: 10_000, // jobs and tasks that one job waits for

  ...documentLimits,

  // What the control plane holds.
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
  tasksPerTakeMax: 10_000,
  offeredPageDefault: 100,
  offeredPageMax: 10_000, // also of those that are accepted or reported at once
  toldOutputCharsMax: 8_192, // of each stream of a task, told by the cluster that ran it
  toldCharsTotalMax: 64 * MIB,
  removalsPerTickMax: 1_000, // finished jobs removed in one go
  groupsMax: 10_000,
  metricGroupsMax: 100, // groups with series of their own in /metrics
  nodesMax: 20_000,
  dependenciesPerSubmissionMax: 200_000,
  nameSearchJobsMax: 1_000_000, // the newest, by the hashes of their names, for one that others name
  nameSuggestionsMax: 1_000, // names that a mistyped one is compared with
  cycleShownMax: 10, // names of a circle of dependencies
  dependenciesShownMax: 100, // of one job, when it is explained
  condensedPerTickMax: 1_000, // jobs that wait for what is removed, written anew in one go
  clustersMax: 10_000,
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

  // Secrets that callers show.
  secretLengthMax: 1_024,
  knownTokenListsMax: 1_000, // of clusters and tokens that were sent together and were right
  secretChecksMax: 2, // computed at once: each takes a processor and 16 MiB
  secretChecksWaitingMax: 1_000,

  // What is known of one machine.
  factsCharsMax: 256 * KIB, // as JSON
  factsSubsystemsMax: 64,
  factsEntriesMax: 5_000, // of all subsystems together
  factFieldsMax: 32, // of one entry
  factTextLengthMax: 512,
  machinePartsMax: 1_024, // sockets, memory domains
  sharedFactsCharsMax: 32 * MIB, // of entries that are remembered, so that equal ones are held once

  // The control loop.
  commandsQueuedMax: 100_000,
  timerMsMax: 2 ** 31 - 1,
  tickRetryMs: 1_000, // after the loop refused a tick
  commandsPerDrainMax: 2_000,
  batchesInFlightMax: 2,
  changesPerBatchMax: 20_000,
  placementsPerRoundMax: 1_000,

  ...aheadLimits,
  settlementsPerRoundMax: 1_000, // jobs released or skipped, before others have their turn
  candidatesPerPlacementMax: 32,
  wakeChecksPerRoundMax: 2_000,

  // The API.
  messageBytesMax: 4 * MIB,
  unpackAtOnceBytesMax: 4 * KIB, // of a compressed message that is unpacked without a thread
  unpackingsAtOnceMax: 2, // in threads: what comes out is charged when it is there
  documentBytesMax: 64 * MIB, // of a message or body that is a graph, and of answers about many clusters
  submitJobsMax: 20_000, // in one call
  receivedBytesMax: 4 * MIB - 64 * KIB, // of jobs that rainbow's clients receive at once: theirs is 4 MiB
  receivedJobsMax: 10_000, // in one such answer
  guessedClustersMax: 16, // that a credential is tried on when it is not told what it is of
  knownTaskNumbersMax: 200_000, // tasks of arrays that rainbow's clients may accept
  goScheduleIdLengthMax: 256, // of a worker, as it calls itself
  goSchedulePingMs: 3_000, // workers leave when nothing comes for 10 s, if they are not set otherwise
  goSchedulePingMsMin: 100,
  goScheduleSilenceMs: 10_000,
  goScheduleThereMsMax: 3_000, // for the answer to one ping
  goScheduleExecsMax: 4_096, // under way on one worker
  goScheduleUntakenBytesMax: 64 * MIB, // of execs that one worker has not acknowledged
  listedBytesMax: 4 * MIB - 64 * KIB, // of tasks or workers that schedctl lists: it takes 4 MiB
  listedCommandBytesMax: 256, // of one listed task
  listedReasonBytesMax: 200,
  knownPreviewsMax: 50_000, // beginnings of outputs, for such lists
  previewsPerListMax: 200, // read from nodes for one list
  previewsAtOnceMax: 16,
  previewsMsMax: 2_000, // for all of one list
  argumentBytesMax: 128 * KIB, // with the byte that ends it: Linux takes no longer ones
  knownJobspecsMax: 256, // that were read last
  knownJobspecCharsMax: 32 * KIB, // longer ones are read each time
  pageSizeDefault: 100,
  pageSizeMax: 1_000,
  listScanMax: 50_000, // jobs looked at to say how many go first
  listSliceLooks: 2_000, // rows looked at for a list before others have their turn
  listPageLooksMax: 200_000, // for one page
  listsAtOnceMax: 1_000, // that are not complete yet; more are refused
  newestTasksPageMax: 1_000, // in one page of those of all jobs
  newestTasksScanMax: 10_000, // looked at for one such page
  ...watchLimits,
  pathParameterCharsMax: 512, // of a URL
  errorMessageCharsMax: 1_000, // what is quoted in errors may be long
  connectionsMax: 25_000, // of one listener
  listenBacklogMax: 16_384, // connections not accepted yet; the kernel allows net.core.somaxconn
  httpKeepAliveMs: 72_000, // for the next request on a connection; longer than proxies keep theirs
  headersReceiveMsMax: 10_000, // for the headers of an HTTP request to arrive
  requestReceiveMsMax: 60_000, // for a request to arrive completely
  smallMessageBytesMax: 64 * KIB, // a request up to this size never waits for a larger one
  smallRequestBytesTotalMax: 64 * MIB, // of small requests and the beginnings of large ones
  smallRequestBytesPerConnectionMax: 16 * MIB,
  largeRequestBytesTotalMax: 192 * MIB, // of large requests, as large as they announce themselves
  largeRequestBytesPerConnectionMax: 128 * MIB,
  openRequestBytes: 4 * KIB, // memory of a request that has begun, beside its bytes
  requestsWaitingMax: 256, // for room; each holds up to 128 KiB meanwhile
  requestStallMs: 2_000, // while others wait, a large request must grow in this time by:
  requestProgressBytesMin: 128 * KIB,
  refusedRequestMsMax: 1_000, // for a caller to end a request that was answered already
  answerBytesTotalMax: 256 * MIB, // of answers and messages that peers have not read
  answerBytesPerConnectionMax: 128 * MIB,
  grpcStreamsPerConnectionMax: 1_000,
  grpcSessionBytesMax: 256 * MIB, // of one connection, in the hands of HTTP/2
  grpcKeepaliveIntervalMs: 30_000, // without a byte until the server pings; clients' pings are always answered
  grpcKeepaliveTimeoutMs: 10_000,
  tcpKeepaliveIdleMs: 10_000, // then Node lets the kernel try ten times, a second apart
  clientKeepaliveMs: 20_000, // until a client with a call under way pings
  firstByteMsMax: 10_000, // of a connection that may be encrypted or not
  streamQueueMessagesMax: 10_000, // for a peer of a two-way stream that does not read
  streamQueueBytesMax: 64 * MIB,
  sseHeartbeatIntervalMs: 15_000, // and of bookmarks: so long may a reader of a watch take nothing
  outputHeadersAfterMs: 1_000, // when there is no output yet, HTTP headers are sent after this
  drainMsMax: 5_000, // from asking streams to end to closing their connections

  // Agents.
  ...linkLimits,
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
  watchRestMsMax: 1_000, // after a look at all runs: as long as the look took, and at most this
  processPollMs: 100, // processes that are not our children, or are being stopped
  claimTimeoutMs: 2_000, // from starting a wrapper to its having taken the run and said so
  journalEntriesMin: 4_096, // a journal shorter than this is not rewritten
  launchersMax: 2,
  launchesUnacknowledgedMax: 16, // of one native launcher; the machine sets the pace
  launchesPerLauncherMax: 20_000, // then a new one begins a new record
  launcherStallMs: 60_000, // without a word from a launcher that owes one, until it is given up
  spawnsOnTheWayMax: 4, // shells, where there is no launcher, that have not begun their commands
  survivorsRestFactor: 20, // how much longer than a pass over all processes until the next, for ended runs
  survivorKillsMax: 50, // of one process that does not go
  launcherIdleLanesMax: 16, // of one launcher, kept for the next run
  launcherSparesMax: 256, // directories of ended runs, kept by one launcher for the next
  spareBytesMax: 64 * KIB, // of output in one that is kept
  discoveryMsMax: 2_000, // what is not known of the machine by then comes after the hello
  softwareDelayMs: 1_000, // from the start of an agent to the first search for software
  discoveryIntervalMs: 300_000, // until it looks again
  programMsMax: 5_000, // for one program that is asked for its version
  programOutputBytesMax: 64 * KIB,
  spackFindMsMax: 60_000,
  spackOutputBytesMax: 32 * MIB, // also of its database
  spackPackagesMax: 4_000, // that are told
  machineFileBytesMax: 4 * MIB, // of one file in /proc, /sys or /etc
  clusterRefreshMs: 15_000, // until an agent of a cluster tells its state again
  clusterRefreshMsMin: 1_000, // and at least so long, however much happens
  leaseMsMin: 1_000,
  takenRunsMax: 20_000, // of one agent of a cluster, that have not ended
  launchAttemptsMax: 3, // of one launch, when launchers die or do not answer

  ...lowerLimits,

  // Machines that are reached through somebody else's program.
  remoteArgumentBytesMax: 128 * KIB, // the kernel's limit for one
  remoteCommandBytesMax: MIB, // of all arguments; the kernel allows about 2 MiB with the environment
  remoteCommandMsMax: 30_000, // for one of our own scripts there
  remoteSurveyMs: 10_000, // until runs that nothing was heard of are looked at again
  remoteFoundMs: 1_000, // the same, of runs whose ends nobody will tell
  remoteSurveyRunsMax: 500, // by one script
  remoteForgetMs: 1_000, // ends that were acknowledged meanwhile are noted there together
  remoteRetryMs: 1_000, // after a script did not answer
  remoteNamesMax: 20_000, // of nodes that are remembered for those who come back
  remoteNamesPerHostMax: 1_000, // at the same time

  // Output.
  outputBytesDefault: 16 * MIB, // per stream of one attempt
  outputBytesMax: 16 * 1_024 * MIB,
  outputCheckIntervalMs: 1_000,
  outputChunkBytesMax: 256 * KIB,
  outputWaitMsMax: 20_000,
  placedPollMs: 100, // how often a reader of output looks whether its task was placed
  outputPollMs: 50, // only while someone waits for more
  outputRequestsPerSessionMax: 256,
  outputKeptRunsMax: 10_000, // on one agent, after the end was acknowledged
  outputKeptBytesMax: 1_024 * MIB,
  outputKeptMsMax: 7 * 24 * 3_600_000,

  // A start of the server.
  startupNoticeMs: 2_000, // until a step says what it waits for
  startupRepeatMs: 10_000, // and says so again
  startupStepMsMax: 60_000, // for a step whose work does not grow with the data

  ...storeLimits,
} as const;

invariant(
  limits.nodeLostAfterMs > limits.reconnectDelayMsMax,
  "an agent must get a chance to come back before its node is lost",
);
invariant(limits.outputChunkBytesMax < limits.messageBytesMax, "output must fit a message");
invariant(limits.workBytesMax < limits.messageBytesMax, "the largest job must fit a message");
invariant(limits.jobspecCharsMax < limits.messageBytesMax, "a jobspec must fit a message");
invariant(limits.receivedBytesMax < limits.messageBytesMax, "received jobs must fit a message");
invariant(
  2 * limits.goSchedulePingMs < limits.goScheduleSilenceMs,
  "a worker must miss several pings before it is given up",
);
invariant(limits.listedBytesMax < limits.messageBytesMax, "listed tasks must fit a message");
invariant(
  limits.goScheduleExecsMax < limits.streamQueueMessagesMax,
  "what may be under way to a worker must not end its stream",
);
invariant(
  limits.goScheduleUntakenBytesMax <= limits.streamQueueBytesMax &&
    limits.streamQueueBytesMax < limits.answerBytesPerConnectionMax,
  "what one worker has not acknowledged must not end its stream",
);
invariant(limits.factsCharsMax * 3 < limits.messageBytesMax, "a machine's facts must fit a hello");
invariant(limits.factTextLengthMax <= limits.graphTextLengthMax, "a fact must fit a type");
invariant(
  limits.discoveryMsMax < limits.helloTimeoutMs,
  "an agent must say hello though its machine is slow to describe itself",
);
invariant(limits.takenRunsMax < limits.runsPerAgentMax, "an agent must report all it took");
invariant(
  limits.documentBytesMax < limits.grpcSessionBytesMax,
  "a document must fit what a connection may hold",
);
invariant(
  limits.documentBytesMax < limits.largeRequestBytesPerConnectionMax &&
    limits.largeRequestBytesPerConnectionMax < limits.largeRequestBytesTotalMax,
  "a document must fit what a connection may hold, and one connection must not hold everything",
);
invariant(
  2 * limits.smallRequestBytesPerConnectionMax < limits.smallRequestBytesTotalMax,
  "one connection must not hold the reserve for small requests",
);
invariant(
  limits.requestsWaitingMax * (limits.smallMessageBytesMax + limits.openRequestBytes) <
    limits.smallRequestBytesTotalMax / 2,
  "requests that wait for room must not hold the reserve for small requests",
);
invariant(
  limits.documentBytesMax < limits.answerBytesPerConnectionMax &&
    limits.answerBytesPerConnectionMax < limits.answerBytesTotalMax,
  "an answer about many clusters must fit what a connection may hold",
);
invariant(
  limits.storeWalIdleBytes < limits.storeWalBytesMax,
  "an idle store must empty its log before a busy one has to",
);
invariant(
  limits.submitJobsMax < limits.possibleKnownMax &&
    limits.messageBytesMax < limits.possibleKnownCharsMax,
  "what is found out about the requests of one submission must be known when it is decided",
);
invariant(limits.changesPerBatchMax <= limits.storeGroupRowsMax, "a batch must fit a group");
invariant(limits.connectionsMax > limits.agentSessionsMax, "agents must not take all connections");
invariant(
  limits.returnsAtOnceMax < limits.returnsMax && limits.returnBackoffMs < limits.returnBackoffMsMax,
  "a task that nodes give back must wait, and longer each time, before it fails",
);
invariant(
  limits.diskFreeBytesMin > limits.workBytesMax,
  "a disk that is not full must take the largest script",
);
invariant(
  limits.quarantineJobs <= limits.suspectJobsPerNodeMax &&
    limits.suspectJobsPerNodeMax < limits.suspectJobsMax &&
    limits.quarantineMs < limits.quarantineMsMax,
  "what quarantines a node must be remembered, and waits must grow",
);
invariant(limits.listSliceLooks < limits.listPageLooksMax, "a page may take several slices");
invariant(limits.pageSizeDefault <= limits.pageSizeMax, "the default page must be allowed");
