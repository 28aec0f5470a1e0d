const KIB = 1024;
const MIB = 1024 * KIB;

/** Doors for clients of older systems. */
export const doorsLimits = {
  receivedBytesMax: 4 * MIB - 64 * KIB, // of jobs that rainbow's clients receive at once: theirs is 4 MiB
  receivedJobsMax: 10_000, // in one such answer
  offeredLookedAtMax: 50_000, // for one answer
  shownJobsMax: 200_000, // hidden from other receivers; of more the oldest are shown to all
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
  previewsMsMax: 500, // for all of one list: those that come later are in the next
  newestTasksPageMax: 1_000, // in one page of those of all jobs
  newestTasksScanMax: 10_000, // looked at for one such page
  nexusAsidesMax: 50_000, // events of the nexus tree that follow from others, kept for watches that resume
  nexusBodyBytesMax: 1 * MIB, // of a request
  nexusListMax: 500, // objects of a list that are made before others have their turn
  nexusMembersMax: 10_000, // objects that one watch by a field of the status is known to have
  notesMax: 200_000, // rows of labels and annotations of nexus clients
  noteBytesMax: 256 * KIB, // of annotations of one of them
  noteIdLengthMax: 512,
  doorRecordsMax: 500_000, // facts that doors remember for their clients
  doorRecordCharsMax: 1 * MIB, // of one of them
  doorRecordIdLengthMax: 1_024,
  oidcAnswerMsMax: 5_000, // of an OpenID provider
  oidcAnswerBytesMax: 256 * KIB,
  oidcCooldownMs: 10_000, // from one attempt to fetch its keys, or to reach it, to the next
  oidcKeysAgeMsMax: 600_000, // then they are fetched again
  oidcClockSkewMs: 60_000, // between its clock and this one
  oidcTokenCharsMax: 16 * KIB,
  oidcCookieCharsMax: 3_800, // browsers keep cookies of 4,096, with name and attributes
  oidcLoginMsMax: 600_000, // until a browser must be back from the provider
  userNameCharsMax: 128, // of a user, as a token has it
  rikHostNameLengthMax: 253,
  rikMetricsCharsMax: 64 * KIB, // of one heartbeat of a worker of rik
  rikSamplesKept: 40, // heartbeats of one worker: ten minutes of them
  rikInstancesPerCpu: 10_000, // that a worker takes for each processor, where they request nothing
  rikCreatesUnderWayMax: 64, // orders that one worker has not answered: it works through them one by one
  rikReportsInFlightMax: 8, // batches of one worker that are not durable yet
  rikOrdersWaitingMax: 100_000, // for a worker that does not read
  rikBeatMs: 15_000, // between heartbeats of a worker
  rikSilenceMs: 45_000, // without a word of a worker until it is given up: three heartbeats
  rikLookMs: 5_000, // between looks at which workers are silent
  rikLostAfterMs: 5_000, // from the end of a worker's stream until its instances are placed again
  rikPingMs: 10_000, // of silence on a connection until it is pinged
  rikPingTimeoutMs: 5_000,
  rikThereMsMax: 2_000, // for the answer to a ping of a worker whose host name another one has
  rikDestroyRetryMs: 5_000, // until an order to destroy is repeated; doubling
  rikDestroyTriesMax: 5,
  rikReopenMs: 200, // until the node of a worker is connected again
  rikStuckBeatsMax: 4, // in which a controller reads nothing of what waits for it, until it is cut off
  rikBodyBytesMax: 4 * MIB, // of a REST request
  rikReplicasMax: 10_000, // instances that one REST request creates
  nexusPatchTries: 5, // of a patch that names no version, while others change the object
  nexusGoneSharesMax: 10_000, // whose agents may still tell of them
  nexusSweepMs: 10_000, // between removals of notes of jobs that are gone
  nexusSweepMax: 500, // at once
  nexusReportMsMax: 5_000, // until the answer to a report of an old agent
  nexusEdgeBeatMs: 5_000, // between looks at edges of old agents
  nexusEdgeTickMs: 60_000, // so often an old agent looks at what it is to do
  nexusDesertedMs: 60_000, // without a watch of any old agent, until all of them are given up
  nexusRemoveTries: 100, // of a node whose link is being closed
  nexusStatsMs: 4_000, // between statistics that watches are told
} as const;
