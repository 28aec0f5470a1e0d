import { invariant } from "../lib/invariant.ts";

const MIB = 1024 * 1024;

/** Those of `limits` that are about executors over another scheduler or another Busbar (docs/slurm.md, docs/flux.md, docs/sites.md). */
export const lowerLimits = {
  lowerCommandMsMax: 30_000, // for one command of the scheduler
  lowerOutputBytesMax: 64 * MIB, // of one command
  lowerGatherMs: 20, // starts that come together become one array
  lowerArrayTasksMax: 1_000, // of one submission; Slurm's own limit is 1001 if not set otherwise
  lowerCommandsAtOnceMax: 8, // side by side, when each submits one job
  lowerSubmissionsPerRoundMax: 100, // before jobs are looked after again
  lowerStepCopiesMax: 10_000,
  lowerStepsMax: 1_000, // of one jobspec
  lowerPollMsMin: 250, // while something changes
  lowerPollMsMax: 10_000, // while nothing does
  lowerPollRestFactor: 2, // of the time that asking took: it costs at most a third of the time
  lowerRetryMsMin: 1_000, // after the scheduler could not be asked
  lowerRetryMsMax: 60_000,
  lowerSettleMs: 3_000, // until a submission of which no answer came must be seen by the scheduler
  lowerMissingMsMax: 15_000, // from the scheduler's last word on a job to giving it up
  lowerAliveMs: 5_000, // between signs of life of a run inside a job; whole seconds
  lowerSilentMsMax: 30_000, // after its last sign of life a run on another machine is gone
  lowerKillNetMs: 2_000, // a run ends its processes itself; after that the scheduler kills them
  lowerCancelRepeatMs: 10_000,
  lowerCloseMsMax: 5_000, // for an answer that is on its way when the agent ends
  queuedRunsToldMax: 10_000, // of one agent, with the reason why they wait below
  queueReasonsToldMax: 100, // different ones
  fluxIdsPerCommandMax: 500, // asked for or cancelled by one command
  fluxBulkJobsMax: 100, // submitted by one command
  fluxJobsListedMax: 100_000, // among which markers are looked for
  siteHopsMax: 8, // sites that a job may have come through
  siteJobsPerCallMax: 500, // submitted together
  siteCallBytesMax: MIB, // of their specs
  siteEarlyMax: 10_000, // tasks heard of before the answer to their submission
  siteCallsAtOnceMax: 8, // of one kind: looks, cancellations, explanations
  siteSpecInlineBytesMax: 4 * 1024, // longer ones are files, which runs of one job share
  siteLookMs: 5_000, // between looks at runs that wait below
  siteFirstLookMs: 1_000, // after something was submitted
  siteShareLookMs: 200, // after something happened to a share below
  siteSizesMax: 10_000, // outputs of shares below whose size is remembered
  siteLooksMax: 200, // runs in one look
  siteSweepMs: 600_000, // between looks at a run of which nothing else is heard
  siteExplainedMax: 20, // of different jobs, in one look
  siteRefreshMs: 2_000, // until its state is told again: its own users come and go unheard
  siteGatherMs: 200, // for nodes that come or go together
  siteDescribeMsMin: 5_000, // between two descriptions, however often nodes come and go
  siteNodesMax: 100_000, // of the Busbar below that are looked at
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
