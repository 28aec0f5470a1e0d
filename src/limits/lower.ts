import { invariant } from "../lib/invariant.ts";

const MIB = 1024 * 1024;

/** Executors over another scheduler or another Busbar (docs/slurm.md, docs/flux.md, docs/sites.md). */
export const lowerLimits = {
  lowerCommandMsMax: 30_000, // for one command of the scheduler
  lowerOutputBytesMax: 64 * MIB, // of one command
  lowerGatherMs: 20, // starts that arrive within this time become one array
  lowerArrayTasksMax: 1_000, // of one submission; the default limit of Slurm is 1001
  lowerCommandsAtOnceMax: 8, // in parallel, when each submits one job
  lowerSubmissionsPerRoundMax: 100, // before the executor looks at its jobs again
  lowerStepCopiesMax: 10_000,
  lowerStepsMax: 1_000, // of one jobspec
  lowerPollMsMin: 250, // while something changes
  lowerPollMsMax: 10_000, // while nothing does
  lowerPollRestFactor: 2, // pause after a poll, as a multiple of its time: polls take at most a third of the time
  lowerRetryMsMin: 1_000, // after the scheduler did not answer
  lowerRetryMsMax: 60_000,
  lowerSettleMs: 3_000, // by then the scheduler must show a submission that it did not answer
  lowerMissingMsMax: 15_000, // from the last time that the scheduler showed a job until the executor gives the job up
  lowerAliveMs: 5_000, // between two signs of life of a run inside a job; whole seconds
  lowerSilentMsMax: 30_000, // without a sign of life, until a run on another machine counts as gone
  lowerKillNetMs: 2_000, // a run ends its processes itself; after this time the scheduler kills them
  lowerCancelRepeatMs: 10_000,
  lowerCloseMsMax: 5_000, // for an answer under way when the agent ends
  queuedRunsToldMax: 10_000, // that one agent reports with the reason why they are queued below
  queueReasonsToldMax: 100, // different reasons
  fluxIdsPerCommandMax: 500, // that one command lists or cancels
  fluxBulkJobsMax: 100, // that one command submits
  fluxJobsListedMax: 100_000, // that the executor searches for its markers
  siteHopsMax: 8, // sites that a job may pass through
  siteJobsPerCallMax: 500, // submitted together
  siteCallBytesMax: MIB, // of their specs
  siteEarlyMax: 10_000, // tasks that appear in events before the answer to their submission
  siteCallsAtOnceMax: 8, // of one kind: looks, cancellations, explanations
  siteSpecInlineBytesMax: 4 * 1024, // longer specs are files, which runs of one job share
  siteLookMs: 5_000, // between looks at runs that are queued below
  siteFirstLookMs: 1_000, // from a submission to the first look
  siteShareLookMs: 200, // after a share below has changed
  siteSizesMax: 10_000, // remembered sizes of outputs of shares below
  siteLooksMax: 200, // runs in one look
  siteSweepMs: 600_000, // between looks at a run without any other news
  siteExplainedMax: 20, // explanations of different jobs in one look
  siteRefreshMs: 2_000, // between two reports of a site's state: the site's own users come and go unnoticed
  siteGatherMs: 200, // for nodes that connect or disconnect together
  siteDescribeMsMin: 5_000, // between two descriptions, however often nodes connect and disconnect
  siteNodesMax: 100_000, // nodes of the Busbar below that the executor looks at
} as const;

invariant(
  lowerLimits.lowerPollMsMin < lowerLimits.lowerPollMsMax &&
    lowerLimits.lowerRetryMsMin < lowerLimits.lowerRetryMsMax,
  "waits must grow",
);
invariant(
  lowerLimits.lowerSilentMsMax >= 3 * lowerLimits.lowerAliveMs &&
    lowerLimits.lowerAliveMs % 1_000 === 0,
  "a run must miss several signs of life to be gone",
);
invariant(
  lowerLimits.siteFirstLookMs < lowerLimits.siteLookMs,
  "the first look must not be later than the second",
);
