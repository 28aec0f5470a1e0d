const KIB = 1024;
const MIB = 1024 * KIB;

/** Doors for clients of older systems. */
export const doorsLimits = {
  receivedBytesMax: 4 * MIB - 64 * KIB, // of jobs that a client of rainbow receives at once: its limit is 4 MiB
  receivedJobsMax: 10_000, // in one such answer
  offeredLookedAtMax: 50_000, // offered tasks that the server looks at for one answer
  shownJobsMax: 200_000, // jobs hidden from other receivers; beyond this the oldest are shown to all
  guessedClustersMax: 16, // clusters that the server tries a credential on when the client does not name one
  rikTemplatesMax: 64, // workloads with the same definition whose checked terms are remembered
  knownSatisfyRequestsMax: 64, // the most recent questions of rainbow's clients, remembered
  knownSatisfyBytesMax: 4 * KIB, // longer ones are decoded each time
  knownTaskNumbersMax: 200_000, // tasks of arrays that rainbow's clients may accept
  goScheduleIdLengthMax: 256, // of the id that a worker gives itself
  goSchedulePingMs: 3_000, // by default a worker leaves when it receives nothing for 10 s
  goSchedulePingMsMin: 100,
  goScheduleSilenceMs: 10_000,
  goScheduleThereMsMax: 3_000, // for the answer to one ping
  goScheduleExecsMax: 4_096, // running on one worker
  goScheduleUntakenBytesMax: 64 * MIB, // of execs that one worker has not acknowledged yet
  listedBytesMax: 4 * MIB - 64 * KIB, // of tasks or workers that schedctl lists: its limit is 4 MiB
  listedCommandBytesMax: 256, // of one listed task
  listedReasonBytesMax: 200,
  knownPreviewsMax: 50_000, // beginnings of outputs, remembered for such lists
  previewsPerListMax: 200, // that the server reads from nodes for one list
  previewsAtOnceMax: 16,
  previewsMsMax: 500, // for all of one list; later ones are in the next list
  newestTasksPageMax: 1_000, // in one page of the tasks of all jobs
  newestTasksScanMax: 10_000, // tasks that the server looks at for one such page
  nexusAsidesMax: 50_000, // events of the nexus tree that follow from others, retained for watches that resume
  nexusBodyBytesMax: 1 * MIB, // of a request
  nexusListMax: 500, // objects of a list that the server makes before other work has its turn
  nexusMembersMax: 10_000, // objects that the server tracks for one watch by a field of the status
  notesMax: 200_000, // rows of labels and annotations of nexus clients
  noteBytesMax: 256 * KIB, // of annotations of one of them
  noteIdLengthMax: 512,
  doorRecordsMax: 500_000, // records that doors store for their clients
  doorRecordCharsMax: 1 * MIB, // of one of them
  doorRecordIdLengthMax: 1_024,
  oidcAnswerMsMax: 5_000, // for an answer of an OpenID provider
  oidcAnswerBytesMax: 256 * KIB,
  oidcCooldownMs: 10_000, // from one attempt to reach the provider or fetch its keys to the next
  oidcKeysAgeMsMax: 600_000, // older keys are fetched again
  oidcClockSkewMs: 60_000, // between the provider's clock and this one
  oidcTokenCharsMax: 16 * KIB,
  oidcCookieCharsMax: 3_800, // browsers accept cookies of 4,096, with name and attributes
  oidcLoginMsMax: 600_000, // until a browser must be back from the provider
  userNameCharsMax: 128, // of a user name in a token
  rikHostNameLengthMax: 253,
  rikQuickExitMs: 2_000, // a controller of rik that ends sooner after it has subscribed may have exited at a status
  rikQuickExitsMax: 5, // such ends in a row, after which it gets no more statuses of those instances
  rikQuickExitNamesMax: 1_000, // names of controllers whose ends are counted
  rikRefusalsMax: 1_000, // refused workers that are logged in ten minutes
  rikRefusalLogMs: 600_000, // in which the same refusal of a worker is logged once
  rikMetricsCharsMax: 64 * KIB, // of one heartbeat of a worker of rik
  rikPendingReasonsMax: 1_000, // pending instances in one list that show their reasons
  rikEndedCheckedMax: 1_000, // ended instances of services in one list whose slots may have been removed by another door
  rikSamplesKept: 40, // retained heartbeats of one worker: ten minutes of them
  rikCpusMax: 100_000, // of one worker: what reports more is no machine
  rikInstancesPerCpu: 1_000_000, // that a worker accepts for each processor, where they request nothing
  rikCreatesUnderWayMax: 64, // orders that one worker has not answered: a worker handles them one by one
  rikDestroysUnderWayMax: 64, // orders to destroy that one worker has not answered, of those that are not repeated yet
  rikReportsInFlightMax: 8, // batches of one worker that are not durable yet
  rikOrdersWaitingMax: 100_000, // for a worker that does not read them
  rikBeatMs: 15_000, // between heartbeats of a worker
  rikSilenceMs: 45_000, // without a message until a worker counts as lost: three heartbeats
  rikUnansweredMs: 60_000, // without an answer to its orders until a worker gets no more of them: riklet may try one program of a container for 30 s
  rikMuteMs: 600_000, // the same, until a worker counts as lost though it sends heartbeats
  rikLookMs: 5_000, // between two checks for silent workers
  rikLostAfterMs: 5_000, // from the end of a worker's stream until its instances are placed again
  rikPingMs: 10_000, // of silence on a connection until it is pinged
  rikPingTimeoutMs: 5_000,
  rikThereMsMax: 2_000, // for the answer to a ping of a worker when another one has its host name
  rikDestroyRetryMs: 5_000, // until the server repeats an order to destroy; doubling
  rikDestroyTriesMax: 5,
  rikReopenMs: 200, // until the server connects the node of a worker again
  rikStuckBeatsMax: 4, // intervals in which a controller reads none of its waiting messages, until the server cuts it off
  rikBodyBytesMax: 1 * MIB, // of a REST request: four times the largest definition
  rikListBlockChars: 256 * KIB, // of a list that a REST user reads, made at once
  rikUnreadMsMax: 30_000, // without a byte read of such a list, until the server cuts its reader off
  rikTemplateCharsMax: 4 * KIB, // of the template of a workload, beside its definition
  rikGivenUpMax: 10_000, // instances of one worker that count as gone, and may be acknowledged later
  rikNotesAtOnceMax: 1_000, // notes of ended instances in one command
  rikEndsRememberedMax: 10_000, // ends that were sent to one controller: it may destroy an instance twice before it has read them
  rikReplicasMax: 10_000, // instances that one REST request creates
  nexusPatchTries: 5, // of a patch that names no version, while others change the object
  nexusGoneSharesMax: 10_000, // removed shares that agents may still report
  nexusSweepMs: 10_000, // between removals of notes of removed jobs
  nexusSweepMax: 500, // notes in one removal
  nexusReportMsMax: 5_000, // until the server answers a report of an old agent
  nexusEdgeBeatMs: 5_000, // between looks at edges of old agents
  nexusEdgeTickMs: 60_000, // between two looks of an old agent at its orders
  nexusDesertedMs: 60_000, // without a watch of any old agent, until all of them count as lost
  nexusRemoveTries: 100, // of a node whose link is being closed
  nexusStatsMs: 4_000, // between two statistics that the server sends to watches
} as const;
