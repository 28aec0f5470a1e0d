import { body, edited, type Mutant, swap, withImport } from "./mutant.ts";

const NODES = "core/state/decide/nodes/nodes.ts";
const REPORTS = "core/state/decide/tasks/report-runs.ts";
const PROGRESS = "core/model/job/task-progress.ts";
const HOLDS = "core/state/dependencies/holds.ts";
const EFFECTS = "core/state/effects.ts";
const TASK_CODEC = "core/state/jobs/task-codec.ts";
const PLACE = "core/state/decide/tasks/place-task.ts";
const QUEUE = "core/scheduler/queue/queue.ts";
const FILL_SLOTS = "core/state/decide/services/fill-slots.ts";
const SERVICE_STEP = "core/state/decide/services/step.ts";
const VERIFY = "core/scheduler/verify.ts";

const endedMoves = swap(REPORTS, "reportRuns", "isActiveTask(task)", "'nodeId' in task.state");
const importReturned = withImport(
  NODES,
  'import { returned as returnedByMutant } from "../tasks/held.ts";',
);

/** Faults of the core: decisions, rows, indexes and the planner. */
export const CORE_MUTANTS: readonly Mutant[] = [
  edited(
    "fits-always",
    "no-overcommit",
    "planner and judge take every node to be large enough",
    body("core/model/resources.ts", "fits", "return true;"),
  ),
  edited(
    "same-attempt",
    "one-execution-per-attempt",
    "a new placement keeps the number of the last",
    swap(PLACE, "rowOfAttempt", "before.attempt + 1", "before.attempt"),
  ),
  edited(
    "any-attempt",
    "old-attempts-are-stopped",
    "reports of old attempts move the new one",
    swap(REPORTS, "reportRuns", "task.attempt !== run.attempt", "false"),
  ),
  edited(
    "ended-moves",
    "ended-stays-ended",
    "reports move tasks that have ended, and the table of moves is not asked",
    endedMoves,
    swap("server/loop/control-loop.ts", "ControlLoop.#applyTask", "checkMove($_, $_);", ""),
  ),
  edited(
    "ended-moves-checked",
    "server-stays-sound",
    "reports move tasks that have ended, and the table of moves is asked",
    endedMoves,
  ),
  edited(
    "reboot-starts-again",
    "one-execution-per-attempt",
    "after a reboot an attempt is sent again",
    swap(
      NODES,
      "reconcile",
      '!isKnown && task.state.kind === "assigned" && !rebooted',
      '!isKnown && task.state.kind === "assigned"',
    ),
  ),
  edited(
    "never-stops",
    "old-attempts-are-stopped",
    "what a node brings back unwanted is not stopped",
    swap(NODES, "reconcile", "if (!ours.has($_)) stops.push(run);", ""),
    swap(REPORTS, "reportRuns", 'if (event.kind === "started") stops.push(run);', ""),
  ),
  edited(
    "progress-back",
    "progress-goes-forward",
    "a smaller percentage is taken for news",
    swap(PROGRESS, "advance", "percent < known.percent", "false"),
  ),
  edited(
    "no-last-word",
    "ends-say-how-far",
    "what comes with the end of a run is not written down",
    swap(REPORTS, "ended", "withFinal(running, event.progress)", "withFinal(running, undefined)"),
  ),
  edited(
    "releases-nothing",
    "indexes-agree-with-rows",
    "what a task used stays used",
    swap("core/scheduler/nodes/node-record.ts", "NodeRecord.release", "subtractFrom($_, $_);", ""),
  ),
  edited(
    "losses-not-read",
    "memory-equals-disk",
    "one field of a row is not read back",
    swap(TASK_CODEC, "readTask", "stored.losses ?? 0", "0"),
  ),
  edited(
    "folds-placed",
    "indexes-agree-with-rows",
    "a job that was placed is folded all the same",
    swap(
      "core/state/jobs/job-record.ts",
      "JobRecord.isUntouched",
      "this.#tasks === undefined",
      "true",
    ),
  ),
  edited(
    "keys-not-asked",
    "one-job-per-key",
    "a known idempotency key is not found",
    swap(
      "core/state/decide/tasks/submit-jobs.ts",
      "findExisting",
      "idempotencyKey === undefined",
      "true",
    ),
  ),
  edited(
    "backoff-forgets",
    "every-task-ends",
    "a task whose backoff is over is not queued again",
    swap(QUEUE, "Queue.release", "record.addReturned(index);", ""),
  ),
  edited(
    "nobody-wakes",
    "every-task-ends",
    "a node that got room wakes nobody",
    swap("core/scheduler/plan.ts", "nextPlacement", "queue.freed(pool)", "undefined"),
  ),
  edited(
    "limits-forget",
    "indexes-agree-with-rows",
    "what is free while groups are at their limits is not remembered for them",
    swap(QUEUE, "Queue.settle", "this.#widenFitting(pool);", ""),
  ),
  edited(
    "limits-stay",
    "indexes-agree-with-rows",
    "a group that may run more tasks again is not ranked again",
    swap(EFFECTS, "progressed", "queue.order.touch(group);", ""),
    swap(
      EFFECTS,
      "bind",
      "subtractFrom(group.used, takes); queue.order.touch(group);",
      "subtractFrom(group.used, takes);",
    ),
  ),
  edited(
    "held-is-queued",
    "dependents-wait",
    "a job that waits for others is queued, and the judge does not mind",
    swap(EFFECTS, "putJob", "row.waitsFor === undefined", "true"),
    swap(VERIFY, "verifyTask", "job.waitsFor !== undefined", "false"),
  ),
  edited(
    "one-is-enough",
    "dependents-wait",
    "one of k that are wanted is enough",
    swap(HOLDS, "Holds.#look", "held.met >= clause.atLeast", "held.met >= 1"),
  ),
  edited(
    "singleton-jumps",
    "dependents-wait",
    "a singleton does not look who is before it",
    swap(HOLDS, "Holds.#tryFirst", "this.singletons.first(name) !== hold.id", "false"),
  ),
  edited(
    "skips-early",
    "skips-are-due",
    "k of n is given up one too early",
    swap(
      HOLDS,
      "Holds.#look",
      "clause.of.length - held.lost >= clause.atLeast",
      "clause.of.length - held.lost > clause.atLeast",
    ),
  ),
  edited(
    "fates-wait",
    "fates-are-written",
    "a job that is closed says nothing of its tasks",
    swap(EFFECTS, "putJobAgain", "holds.tasksMoved(row.id, undefined)", "undefined"),
  ),
  edited(
    "condenses-wrongly",
    "fates-are-written",
    "what was met is forgotten when its job is removed",
    swap("core/state/dependencies/settle.ts", "openPart", "clause.atLeast - met", "clause.atLeast"),
  ),
  edited(
    "restart-forgets-holds",
    "indexes-agree-with-rows",
    "a restarted server does not know who waits for whom",
    swap(EFFECTS, "beginLoaded", "begin(state, record);", ""),
  ),
  edited(
    "returns-cost",
    "sick-nodes-cost-nothing",
    "a task that its node gives back uses a retry",
    swap(
      "core/state/decide/tasks/end-attempt.ts",
      "counted",
      "return { failures, losses, returns: returns + 1 };",
      "return { failures: failures + 1, losses, returns: returns + 1 };",
    ),
  ),
  edited(
    "sick-takes",
    "sick-nodes-cost-nothing",
    "tasks are placed on nodes that are sick",
    swap("core/model/node/node.ts", "acceptsTasks", "node.sickness === undefined", "true"),
  ),
  edited(
    "trials-at-will",
    "quarantines-are-due",
    "a node that is tried gets as much as it can take",
    swap(PLACE, "onTrial", "node.quarantine === undefined", "true"),
  ),
  edited(
    "one-job-is-enough",
    "quarantines-are-due",
    "one job that fails again and again quarantines a node",
    swap(
      "core/scheduler/nodes/suspicions.ts",
      "Suspicions.#failed",
      "jobs === 0 || streak.jobs.size < jobs",
      "false",
    ),
    swap(
      "core/state/decide/nodes/quarantine.ts",
      "quarantined",
      "jobs.length < terms.jobs",
      "jobs.length < 1",
    ),
  ),
  edited(
    "keeps-nothing",
    "losses-follow-policy",
    "a lost node keeps no task",
    body(NODES, "LOSSES.keep", "return loseAttempt(_job, task, message, nowMs);"),
  ),
  edited(
    "fails-again",
    "losses-follow-policy",
    "what is lost with a node that fails is tried again",
    swap(
      NODES,
      "fail",
      "failForGood(task, message, nowMs)",
      "loseAttempt(_job, task, message, nowMs)",
    ),
  ),
  edited(
    "back-without-answer",
    "one-execution-per-attempt",
    "a held task is queued again before its node has given it back",
    swap(
      "core/state/decide/tasks/held.ts",
      "takenBack",
      "return { ...task, state: { ...task.state, takeBack: { reason, isCancel } } };",
      "return returned(task, task.state.heldAtMs);",
    ),
  ),
  edited(
    "held-uses-capacity",
    "indexes-agree-with-rows",
    "a held task counts as using its node",
    swap(
      "core/state/jobs/attempt-ends.ts",
      "heldMoved",
      "nodeTotals.hold(to, after);",
      "nodeTotals.bind(to, after, record.job.spec.needs);",
    ),
  ),
  edited(
    "drained-keeps-held",
    "held-is-begun-or-back",
    "a drained node keeps what it holds",
    swap(
      "core/scheduler/fetch-ahead.ts",
      "takeBackReasonOf",
      "if (!mayHold(node)) return () => $_;",
      "if (!mayHold(node)) return () => undefined;",
    ),
  ),
  edited(
    "held-for-long",
    "held-is-begun-or-back",
    "nobody asks for what is held for long",
    swap("core/state/decide/tick.ts", "takeBackAtMs", "limits.heldMsMax", "600 * limits.heldMsMax"),
  ),
  edited(
    "begun-is-back",
    "held-is-begun-or-back",
    "after a lost link what has begun is queued again",
    swap(
      NODES,
      "reconcile",
      'changes.push({ table: "task", row: begun(task) });',
      'changes.push({ table: "task", row: returnedByMutant(task, hello.nowMs) });',
    ),
    importReturned,
  ),
  edited(
    "late-hello-counts",
    "held-is-begun-or-back",
    "what a Hello does not name is queued again",
    swap(
      NODES,
      "reconcile",
      "holds.push({ run, heldAtMs, isWanted: takeBack === undefined });",
      'changes.push({ table: "task", row: returnedByMutant(task, hello.nowMs) });',
    ),
    importReturned,
  ),
  edited(
    "holds-forgotten",
    "holds-are-kept",
    "a job on hold is placed all the same",
    swap("core/model/job/user-hold.ts", "isWhollyHeld", "hold !== undefined", "false"),
    swap("core/model/job/user-hold.ts", "isHeldAt", "hold !== undefined", "false"),
  ),
  edited(
    "pauses-forgotten",
    "paused-groups-place-nothing",
    "a paused group is served like any other",
    swap(
      "core/scheduler/queue/group-record.ts",
      "GroupRecord.mayPlace",
      "pausedBy === undefined",
      "true",
    ),
    swap(VERIFY, "verifyTask", "groups.get($_)?.group.pausedBy !== undefined", "false"),
  ),
  edited(
    "requeues-at-once",
    "requeued-is-stopped-first",
    "a task that is requeued is not stopped first",
    swap("core/state/decide/jobs/requeue-job.ts", "stopped", "isLost && $_", "job !== undefined"),
  ),
  edited(
    "requeue-is-cancel",
    "requeued-is-stopped-first",
    "a task that was stopped to be placed again is cancelled",
    swap(
      "core/state/decide/tasks/end-attempt.ts",
      "isToRequeue",
      "state.isRequeued === true",
      "false",
    ),
  ),
  edited(
    "slot-filled-early",
    "one-job-per-slot",
    "a slot that is replaced gets its next job before the present one has ended",
    swap(
      FILL_SLOTS,
      "replaceJob",
      'slot.isLive ? stopSlot(state, row, order) : [{ table: "slot", row }]',
      "fillSlots(state, slot.service.row, [{ ...emptied(slot), generation }], order).changes",
    ),
  ),
  edited(
    "one-instance-less",
    "wanted-instances-run",
    "one instance less than is wanted is made",
    swap(
      SERVICE_STEP,
      "missingStep",
      "row.replicas - counted.size",
      "row.replicas - 1 - counted.size",
    ),
  ),
];
