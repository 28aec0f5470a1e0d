import { atSeam, edited, type Mutant, swap } from "./mutant.ts";

const LOOP = "server/loop/control-loop.ts";
const SESSIONS = "server/sessions/agent-sessions.ts";

/** Faults of ports, of the server around the core, and of agents. */
export const SHELL_MUTANTS: readonly Mutant[] = [
  atSeam("storeAnswersEarly", "durable-before-told", "the store answers before it is durable"),
  atSeam("diskLosesLastBatch", "acknowledged-ends-stay", "a crash loses the last durable batch"),
  atSeam("loadLosesJob", "acknowledged-jobs-exist", "a restarted server misses its newest job"),
  atSeam(
    "agentForgetsItsJournal",
    "one-execution-per-attempt",
    "a restarted agent forgot what it runs",
  ),
  atSeam("machineStartsTwice", "one-execution-per-attempt", "an executor starts a run twice"),
  atSeam("streamLosesMessages", "every-task-ends", "a stream loses messages and goes on"),
  atSeam("endsGetLost", "every-task-ends", "ends that agents report do not arrive"),
  atSeam("stopsGetLost", "old-attempts-are-stopped", "stops do not reach the agents"),
  atSeam("acknowledgedByTheWay", "durable-before-told", "reports are acknowledged on arrival"),
  atSeam("keysGetLost", "one-job-per-key", "the door forgets idempotency keys"),
  atSeam("watchLosesEvents", "watch-has-no-gaps", "a watch drops an event"),
  edited(
    "acks-at-once",
    "durable-before-told",
    "the server acknowledges reports before they are stored",
    swap(
      SESSIONS,
      "AgentSessions.#report",
      "session.beginReport();",
      "session.beginReport(); session.ack(reports.seq);",
    ),
  ),
  edited(
    "answers-at-once",
    "durable-before-told",
    "commands are answered before they are stored",
    swap(LOOP, "ControlLoop.#decideOne", "batch === undefined", "true"),
  ),
  edited(
    "reads-at-once",
    "durable-before-told",
    "reads show what is not stored yet",
    swap("server/loop/open-batch.ts", "whenDurable", "batch === undefined", "true"),
  ),
  edited(
    "reads-claim-too-little",
    "watched-view-agrees",
    "a list names the revision before the batch that it shows",
    swap(LOOP, "ControlLoop.#readAfter", "batch?.revision", "batch?.before"),
  ),
  edited(
    "reads-claim-too-much",
    "durable-before-told",
    "a list names the revision after the last that it shows",
    swap(
      LOOP,
      "ControlLoop.#readAfter",
      "batch?.revision",
      "batch && toRevision(batch.revision + 1)",
    ),
  ),
  edited(
    "jobs-share-revisions",
    "watch-has-no-gaps",
    "a job has the revision of its task, so that who was cut between the two misses one",
    swap("core/state/state.ts", "State.besideWriting", "this.#writing + 1", "this.#writing"),
  ),
  edited(
    "resume-repeats",
    "watch-has-no-gaps",
    "a watch that resumes in a commit begins with what was seen",
    swap(
      "server/watch/rendered-events.ts",
      "RenderedEvents.#render",
      "own <= after",
      "own < after",
    ),
  ),
  edited(
    "touch-is-forgotten",
    "indexes-agree-with-rows",
    "a job's revision is not raised when its task is read back",
    swap(
      "core/state/effects.ts",
      "putTask",
      "record.moveTo(state.besideWriting());",
      "if (!state.isLoading) record.moveTo(state.besideWriting());",
    ),
  ),
  edited(
    "zombie-session",
    "every-task-ends",
    "a session outlives the one that replaced it",
    swap(SESSIONS, "AgentSessions.#nodeConnected", "this.#byNode.delete(id);", "return;"),
  ),
  edited(
    "ticker-spins",
    "server-stays-sound",
    "a refused tick is repeated without a pause",
    swap("server/loop/ticker.ts", "Ticker.#tryLater", "limits.tickRetryMs", "0"),
  ),
  edited(
    "resume-skips",
    "watch-has-no-gaps",
    "a resumed watch starts one revision late",
    swap(
      "server/watch/watch-history.ts",
      "WatchHistory.placeAfter",
      "($_ ?? 0) <= from",
      "(this.#commits[middle]?.revision ?? 0) <= from + 1",
    ),
  ),
  edited(
    "held-begins-at-once",
    "no-overcommit",
    "an agent begins what it holds at once",
    swap(
      "agent/session/session.ts",
      "ServerSession.#onHolds",
      "this.#held.add($_, $_, $_);",
      "begin();",
    ),
  ),
];
