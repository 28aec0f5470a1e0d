import type { CheckerName } from "./checkers.ts";
import type { Seams } from "./seams.ts";

/** One change of the product's text. It must match exactly once, or the mutant is out of date. */
export interface Edit {
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface Mutant {
  readonly name: string;
  /** What is broken, for the table in docs/testing.md. */
  readonly what: string;
  readonly caughtBy: CheckerName;
  readonly seam?: keyof Seams;
  readonly edits?: readonly Edit[];
}

const seam = (name: keyof Seams, caughtBy: CheckerName, what: string): Mutant => ({
  name,
  what,
  caughtBy,
  seam: name,
});

const edit = (
  name: string,
  caughtBy: CheckerName,
  what: string,
  ...edits: readonly (readonly [file: string, find: string, replace: string])[]
): Mutant => ({
  name,
  what,
  caughtBy,
  edits: edits.map(([file, find, replace]) => ({ file: `src/${file}`, find, replace })),
});

const LOOP = "server/loop/control-loop.ts";
const SESSIONS = "server/sessions/agent-sessions.ts";
const NODES = "core/state/decide/nodes/nodes.ts";
const REPORTS = "core/state/decide/tasks/report-runs.ts";
const HOLDS = "core/state/dependencies/holds.ts";
const STATE = "core/state/state.ts";
const HELD = "core/state/decide/tasks/held.ts";
const PLACE = "core/state/decide/tasks/place-task.ts";

/** Each breaks one promise on purpose. A checker that lets its mutants live proves nothing. */
export const MUTANTS: readonly Mutant[] = [
  seam("storeAnswersEarly", "durable-before-told", "the store answers before it is durable"),
  seam(
    "diskLosesLastBatch",
    "acknowledged-ends-stay",
    "a crash takes the last durable batch along",
  ),
  seam(
    "loadLosesJob",
    "acknowledged-jobs-exist",
    "a restarted server does not find its newest job",
  ),
  seam(
    "agentForgetsItsJournal",
    "one-execution-per-attempt",
    "a restarted agent forgot what it runs",
  ),
  seam("machineStartsTwice", "one-execution-per-attempt", "an executor starts a run twice"),
  seam("streamLosesMessages", "every-task-ends", "a stream loses messages and goes on"),
  seam("endsGetLost", "every-task-ends", "ends that agents report do not arrive"),
  seam("stopsGetLost", "old-attempts-are-stopped", "stops do not reach the agents"),
  seam("acknowledgedByTheWay", "durable-before-told", "reports are acknowledged on arrival"),
  seam("keysGetLost", "one-job-per-key", "the door forgets idempotency keys"),
  seam("watchLosesEvents", "watch-has-no-gaps", "a watch drops an event"),
  edit("fits-always", "no-overcommit", "planner and judge take every node to be large enough", [
    "core/model/resources.ts",
    "export function fits(needs: Resources, free: Resources): boolean {",
    "export function fits(needs: Resources, free: Resources): boolean {\n  if (needs !== free) return true;",
  ]),
  edit(
    "same-attempt",
    "one-execution-per-attempt",
    "a new placement keeps the number of the last",
    ["core/state/decide/tasks/place-task.ts", "(before?.attempt ?? 0) + 1", "before?.attempt ?? 1"],
  ),
  edit("any-attempt", "old-attempts-are-stopped", "reports of old attempts move the new one", [
    REPORTS,
    "task.attempt !== run.attempt",
    "false",
  ]),
  edit(
    "ended-moves",
    "ended-stays-ended",
    "reports move tasks that have ended, and the table of moves is not asked",
    [
      REPORTS,
      "task !== undefined && isActiveTask(task) &&",
      "task !== undefined && 'nodeId' in task.state &&",
    ],
    [LOOP, "checkMove(this.#state, change.row);", ""],
  ),
  edit("ended-moves-checked", "server-stays-sound", "the same, and the table of moves is asked", [
    REPORTS,
    "task !== undefined && isActiveTask(task) &&",
    "task !== undefined && 'nodeId' in task.state &&",
  ]),
  edit(
    "acks-at-once",
    "durable-before-told",
    "the server acknowledges reports before they are stored",
    [
      SESSIONS,
      "session.reportsInFlight++;",
      "session.reportsInFlight++; session.ack(reports.seq);",
    ],
  ),
  edit("answers-at-once", "durable-before-told", "commands are answered before they are stored", [
    LOOP,
    "if (batch === undefined) resolve(decision.answer);",
    "if (batch !== null) resolve(decision.answer);",
  ]),
  edit("reads-at-once", "durable-before-told", "reads show what is not stored yet", [
    "server/loop/open-batch.ts",
    "if (batch === undefined) settle();",
    "if (batch !== null) settle();",
  ]),
  edit(
    "reads-claim-too-much",
    "watched-view-agrees",
    "a list names the revision of a batch that still grows",
    [LOOP, "toRevision(this.#open.revision - 1)", "this.#open.revision"],
  ),
  edit("zombie-session", "every-task-ends", "a session outlives the one that replaced it", [
    SESSIONS,
    "if (session === undefined) this.#byNode.delete(id);",
    "if (session === undefined) return;",
  ]),
  edit(
    "reboot-starts-again",
    "one-execution-per-attempt",
    "after a reboot an attempt is sent again",
    [NODES, " && !rebooted) starts.push(run);", ") starts.push(run);"],
  ),
  edit("ticker-spins", "server-stays-sound", "a refused tick is repeated without a pause", [
    "server/loop/ticker.ts",
    "this.#clock.after(limits.tickRetryMs,",
    "this.#clock.after(0,",
  ]),
  edit(
    "never-stops",
    "old-attempts-are-stopped",
    "what a node brings back unwanted is not stopped",
    [NODES, "if (!ours.has(runKey(run))) stops.push(run);", "ours.has(runKey(run));"],
    [REPORTS, 'if (event.kind === "started") stops.push(run);', ""],
  ),
  edit("releases-nothing", "indexes-agree-with-rows", "what a task used stays used", [
    "core/state/nodes/node-record.ts",
    "subtractFrom(this.#used, needs);",
    "",
  ]),
  edit("losses-not-read", "memory-equals-disk", "one field of a row is not read back", [
    "core/state/codec.ts",
    "losses: stored.losses ?? 0,",
    "losses: 0,",
  ]),
  edit("folds-placed", "indexes-agree-with-rows", "a job that was placed is folded all the same", [
    "core/state/jobs/job-record.ts",
    "this.#tasks === undefined && closed",
    "closed",
  ]),
  edit("resume-skips", "watch-has-no-gaps", "a resumed watch starts one revision late", [
    "server/watch/watch-history.ts",
    "?? 0) <= from) low = middle + 1",
    "?? 0) <= from + 1) low = middle + 1",
  ]),
  edit("keys-not-asked", "one-job-per-key", "a known idempotency key is not found", [
    "core/state/decide/tasks/submit-jobs.ts",
    "if (idempotencyKey === undefined) return undefined;",
    "if (idempotencyKey !== null) return undefined;",
  ]),
  edit("backoff-forgets", "every-task-ends", "a task whose backoff is over is not queued again", [
    "core/scheduler/queue/queue.ts",
    "record.giveBack(index);",
    "",
  ]),
  edit("nobody-wakes", "every-task-ends", "a node that got room wakes nobody", [
    "core/scheduler/plan.ts",
    "(pool) => queue.freed(pool)",
    "() => undefined",
  ]),
  edit(
    "limits-forget",
    "indexes-agree-with-rows",
    "what is free while groups are at their limits is not remembered for them",
    ["core/scheduler/queue/queue.ts", "if (this.order.hasLimited) this.#widenFitting(pool);", ""],
  ),
  edit(
    "limits-stay",
    "indexes-agree-with-rows",
    "a group that may run more tasks again is not ranked again",
    [STATE, "this.queue.order.touch(group); // which may be at its limit now, or no longer", ""],
    [STATE, "subtractFrom(group.used, takes);\n      this.queue.order.touch(group);", ""],
  ),
  edit(
    "held-is-queued",
    "dependents-wait",
    "a job that waits for others is queued, and the judge does not mind",
    [
      "core/state/state.ts",
      "if (row.waitsFor === undefined) this.queue.add(group, record);",
      "this.queue.add(group, record);",
    ],
    ["core/scheduler/verify.ts", "if (job.waitsFor !== undefined)", "if (job.waitsFor === null)"],
  ),
  edit("one-is-enough", "dependents-wait", "one of k that are wanted is enough", [
    HOLDS,
    "if (held.met >= clause.atLeast)",
    "if (held.met >= 1)",
  ]),
  edit("singleton-jumps", "dependents-wait", "a singleton does not look who is before it", [
    HOLDS,
    "if (this.singletons.first(name) !== hold.id) return;",
    "",
  ]),
  edit("skips-early", "skips-are-due", "k of n is given up one too early", [
    HOLDS,
    "clause.of.length - held.lost >= clause.atLeast",
    "clause.of.length - held.lost > clause.atLeast",
  ]),
  edit("fates-wait", "fates-are-written", "a job that is closed says nothing of its tasks", [
    "core/state/state.ts",
    "if (row.closed !== undefined) this.holds.tasksMoved(row.id, undefined);",
    "",
  ]),
  edit(
    "condenses-wrongly",
    "fates-are-written",
    "what was met is forgotten when its job is removed",
    ["core/state/dependencies/settle.ts", "clause.atLeast - met", "clause.atLeast"],
  ),
  edit(
    "restart-forgets-holds",
    "indexes-agree-with-rows",
    "a restarted server does not know who waits for whom",
    [
      "core/state/state.ts",
      "for (const record of dependent.sort((a, b) => a.job.id - b.job.id)) this.#begin(record);",
      "",
    ],
  ),
  edit("takes-forgotten", "placed-as-asked", "a row does not say what its task takes", [
    PLACE,
    "row: isOwn ? row : { ...row, takes }",
    "row: isOwn ? row : { ...row }",
  ]),
  edit("exclusive-shares", "placed-as-asked", "an exclusive node is asked for its cores only", [
    "core/graph/match/compile-request.ts",
    "(request.isExclusive || above.slot?.isExclusive === true)",
    "above.slot?.isExclusive === true",
  ]),
  edit(
    "binds-needs",
    "whole-nodes-are-alone",
    "of a node is counted what the job needs, not what the task takes",
    [STATE, "const takes = after.takes ?? needs;", "const takes = needs;"],
    [STATE, "const takes = before.takes ?? needs;", "const takes = needs;"],
  ),
  edit("releases-needs", "indexes-agree-with-rows", "what is given back is what the job needs", [
    STATE,
    "const takes = before.takes ?? needs;",
    "const takes = needs;",
  ]),
  edit("takes-not-read", "memory-equals-disk", "what a task takes is not read back", [
    "core/state/codec.ts",
    "...(stored.takes === undefined ? {} : { takes: stored.takes }),",
    "",
  ]),
  edit(
    "any-graph",
    "offered-as-asked",
    "planner and judge take every cluster to have what is asked for",
    ["core/graph/cluster-graphs.ts", "if (fits) matches.push", "if (fits !== null) matches.push"],
    ["core/scheduler/verify.ts", "asked.compiled).fits ?", "asked.compiled).fits !== null ?"],
  ),
  edit("offers-stay", "offers-have-clusters", "a cluster that is deleted keeps its offers", [
    "core/state/decide/clusters.ts",
    "changes.push(...withdrawAll(state, id, nowMs));",
    "",
  ]),
  edit("accepts-others", "one-taker-each", "a cluster takes what is offered to another", [
    "core/state/decide/tasks/accepted-tasks.ts",
    "|| task.state.cluster !== cluster || taken.has(task)",
    "|| taken.has(task)",
  ]),
  edit("accepted-stay", "offers-have-clusters", "what a cluster took outlives it", [
    "core/state/decide/clusters.ts",
    "...accepted.map((task) => failForGood(task, message, nowMs)),",
    "",
  ]),
  edit("old-news-counts", "handed-ends-were-told", "news of an old attempt ends the new one", [
    "core/state/decide/tasks/accepted-tasks.ts",
    "if (!isOurs || (event.attempt !== undefined && event.attempt !== task.attempt)) {",
    "if (!isOurs) {",
  ]),
  edit(
    "handed-forgotten",
    "indexes-agree-with-rows",
    "what is handed over is not known by its row",
    [
      "core/state/jobs/accepted-tasks.ts",
      "if (after !== undefined && isAcceptedTask(after)) this.#tasks.add(after);",
      "if (before === undefined && after !== undefined && isAcceptedTask(after)) this.#tasks.add(after);",
    ],
  ),
  edit(
    "credentials-stay",
    "indexes-agree-with-rows",
    "a cluster that is deleted can be spoken for",
    ["core/state/decide/clusters.ts", "changes.push(...removedWithCluster(state, id));", ""],
  ),
  edit("nothing-counts", "counters-go-down", "what a cluster counts is not written", [
    PLACE,
    'return status === undefined ? [task] : [task, { table: "status", row: status }];',
    "return status === undefined ? [task] : [task];",
  ]),
  edit(
    "requests-differ",
    "acknowledged-jobs-exist",
    "a request that was stored is not the same when it is read",
    ["core/state/codec.ts", "request: request && decodeChoice(request),", "request,"],
  ),
  edit(
    "state-unheard",
    "every-task-ends",
    "a class that requests a node is not looked at again when its cluster reports its state",
    [
      "core/scheduler/request.ts",
      "asked.request !== undefined || mayGoToClusters(asked);",
      "mayGoToClusters(asked);",
    ],
  ),
  edit("returns-cost", "sick-nodes-cost-nothing", "a task that its node gives back uses a retry", [
    "core/state/decide/tasks/end-attempt.ts",
    "return { failures, losses, returns: returns + 1 };",
    "return { failures: failures + 1, losses, returns: returns + 1 };",
  ]),
  edit("sick-takes", "sick-nodes-cost-nothing", "tasks are placed on nodes that are sick", [
    "core/model/node/node.ts",
    "node.sickness === undefined &&",
    "",
  ]),
  edit(
    "trials-at-will",
    "quarantines-are-due",
    "a node that is tried gets as much as it can take",
    [
      PLACE,
      "if (node.quarantine === undefined) return [task];",
      "if (node !== undefined) return [task];",
    ],
  ),
  edit(
    "one-job-is-enough",
    "quarantines-are-due",
    "one job that fails again and again quarantines a node",
    [
      "core/state/nodes/suspicions.ts",
      "if (jobs === 0 || streak.jobs.size < jobs) return;",
      "this.#toJudge.add(id);",
    ],
    ["core/state/decide/nodes/quarantine.ts", "jobs.length < terms.jobs", "jobs.length < 1"],
  ),
  edit("keeps-nothing", "losses-follow-policy", "a lost node keeps no task", [
    NODES,
    'task.state.kind === "stopping" ? failForGood(task, message, nowMs) : undefined',
    "loseAttempt(_job, task, message, nowMs)",
  ]),
  edit(
    "fails-again",
    "losses-follow-policy",
    "what is lost with a node that fails is tried again",
    [NODES, "  fail,\n};", "  fail: loseAttempt,\n};"],
  ),
  edit("held-begins-at-once", "no-overcommit", "an agent begins what it holds at once", [
    "agent/session/session.ts",
    "this.#held.add(key, cached.needs, { id, heldAtMs, begin });",
    "begin();",
  ]),
  edit(
    "back-without-answer",
    "one-execution-per-attempt",
    "a held task is queued again before its node has given it back",
    [
      HELD,
      "return { ...task, state: { ...task.state, takeBack: { reason, isCancel } } };",
      "return returned(task, task.state.heldAtMs);",
    ],
  ),
  edit("held-uses-capacity", "indexes-agree-with-rows", "a held task counts as using its node", [
    "core/state/jobs/attempt-ends.ts",
    "if (to !== undefined) nodeTotals.hold(to, after);",
    "if (to !== undefined) nodeTotals.bind(to, after, record.job.spec.needs);",
  ]),
  edit("drained-keeps-held", "held-is-begun-or-back", "a drained node keeps what it holds", [
    "core/scheduler/fetch-ahead.ts",
    'return () => "its node takes no tasks";',
    "return () => undefined;",
  ]),
  edit("held-for-long", "held-is-begun-or-back", "nobody asks for what is held for long", [
    "core/state/decide/tick.ts",
    "state.heldAtMs + limits.heldMsMax",
    "state.heldAtMs + 600 * limits.heldMsMax",
  ]),
  edit(
    "begun-is-back",
    "held-is-begun-or-back",
    "after a lost link what has begun is queued again",
    [
      NODES,
      'if (isKnown) changes.push({ table: "task", row: begun(task) });',
      'if (isKnown) changes.push({ table: "task", row: returned(task, hello.nowMs) });',
    ],
    [NODES, "import { begun, isHeldTask }", "import { begun, isHeldTask, returned }"],
  ),
  edit(
    "late-hello-counts",
    "held-is-begun-or-back",
    "what a Hello does not name is queued again",
    [
      NODES,
      "else holds.push({ run, heldAtMs, isWanted: takeBack === undefined });",
      'else changes.push({ table: "task", row: returned(task, hello.nowMs) });',
    ],
    [NODES, "import { begun, isHeldTask }", "import { begun, isHeldTask, returned }"],
  ),
];
