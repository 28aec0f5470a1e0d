import type { Edit } from "../mutants/edit.ts";
import { body, swap } from "../mutants/mutant.ts";
import type { EdgeChecker } from "./checkers.ts";

/** Breaks one promise about shares on purpose. */
export interface EdgeMutant {
  readonly name: string;
  /** A description of the fault. */
  readonly what: string;
  readonly caughtBy: EdgeChecker;
  readonly edits: readonly Edit[];
}

const TASK = "core/model/job/task.ts";
const POWER = "core/model/node/power.ts";
const SPLIT = "core/scheduler/power/split.ts";
const CHOOSE = "core/scheduler/power/choose-shares.ts";
const VERIFY = "core/scheduler/verify.ts";
const EFFECTS = "core/state/effects.ts";
const PROGRESS = "core/model/energy-progress.ts";
const END = "core/state/decide/tasks/end-attempt.ts";
const QUEUE = "core/scheduler/queue/queue.ts";
const CODEC = "core/state/jobs/task-codec.ts";

const wholeJob = swap(
  CHOOSE,
  "energyToSplit",
  "(terms?.wattSeconds ?? 0) - (progress.energy?.placed ?? 0)",
  "terms?.wattSeconds ?? 0",
);

const mutant = (
  name: string,
  caughtBy: EdgeChecker,
  what: string,
  ...edits: readonly Edit[]
): EdgeMutant => ({ name, what, caughtBy, edits });

export const EDGE_MUTANTS: readonly EdgeMutant[] = [
  mutant(
    "vanished-is-done",
    "done-was-used",
    "all of a share counts that vanished with its edge",
    swap(TASK, "doneOf", "partOf(share, hundredths(progress.percent))", "share"),
  ),
  mutant(
    "failed-is-done",
    "shares-add-up",
    "energy that a failed command reported counts as done",
    swap(TASK, "doneOf", "isOwnFailure(state.failure)", "false"),
  ),
  mutant(
    "two-at-a-time",
    "one-share-an-edge",
    "an edge has places for two shares",
    swap(
      POWER,
      "withPower",
      "return { ...reported, [SHARE_RESOURCE]: 1, ...(power.isBare === true ? { [BARE_SHARE_RESOURCE]: 1 } : {}) };",
      "return { ...reported, [SHARE_RESOURCE]: 2, [BARE_SHARE_RESOURCE]: 2 };",
    ),
  ),
  mutant(
    "one-more-for-a-site",
    "one-share-an-edge",
    "a site gets one share more than it reported",
    swap(POWER, "withPower", "power.site.shares", "power.site.shares + 1"),
  ),
  mutant(
    "placed-again",
    "no-energy-twice",
    "planner and verification ignore the energy that shares have already",
    wholeJob,
    swap(VERIFY, "verifySplit", "!(asked <= left)", "false"),
  ),
  mutant(
    "placed-again-judged",
    "core-stays-sound",
    "the planner ignores the energy that shares have already, and the verification does not",
    wholeJob,
  ),
  mutant(
    "rest-forgotten",
    "indexes-agree-with-rows",
    "what a share left undone is not queued again",
    swap(EFFECTS, "shareMoved", "state.queue.add(group, record);", ";"),
  ),
  mutant(
    "backs-off-for-ever",
    "every-job-ends",
    "a job whose share failed makes no others",
    swap(QUEUE, "Queue.release", "record.isBackingOff = false;", ";"),
  ),
  mutant(
    "any-size",
    "within-bounds",
    "shares are as large as they like",
    swap(
      SPLIT,
      "splitEnergy",
      "Math.min(energy, terms.greatestShare, edge.greatestShare ?? energy)",
      "energy",
    ),
    body(VERIFY, "isShareFor", "return true;"),
  ),
  mutant(
    "lost-before-start",
    "times-are-right",
    "shares of lost edges ended long ago",
    body(
      END,
      "loseAttempt",
      "return failAttempt(job, task, { kind: 'lost', message }, { startedAtMs: undefined, endedAtMs: 1, nowMs });",
    ),
  ),
  mutant(
    "sums-drift",
    "indexes-agree-with-rows",
    "a share's progress is added and never taken away",
    swap(PROGRESS, "energyAfter", "done - was.done + is.done", "done + is.done"),
  ),
  mutant(
    "share-not-stored",
    "memory-equals-disk",
    "a share that has ended is read back without its size",
    swap(
      CODEC,
      "readTask",
      "stored.share === undefined ? {} : { share: stored.share }",
      "stored.share === undefined || 'endedAtMs' in stored.state ? {} : { share: stored.share }",
    ),
  ),
];
