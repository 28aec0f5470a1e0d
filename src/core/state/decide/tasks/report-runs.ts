import { AppError } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import type { Job } from "../../../model/job/job.ts";
import type { ActiveState, TaskFailure, Task } from "../../../model/job/task.ts";
import { ranBy } from "../../../model/job/task.ts";
import { visible } from "../../../model/texts.ts";
import type { Change } from "../../change.ts";
import type { Answers, CommandOf, Decision, RunEvent, RunRef } from "../../command.ts";
import type { State } from "../../state.ts";
import {
  failAttempt,
  isActiveTask,
  isToRequeue,
  requeued,
  startOf,
  withFinal,
  withUsage,
} from "./end-attempt.ts";
import { begun, isHeldTask, returned } from "./held.ts";
import { isRestarted } from "./restart.ts";

/**
 * An agent reports runs. A report changes only the current attempt of a task that is assigned to this very
 * node. Any other report is out of date (repeated, or of a task that was placed elsewhere since) and
 * changes nothing, but the agent must stop an unwanted run.
 */
export function reportRuns(
  state: State,
  { nodeId, session, events, nowMs }: CommandOf<"report-runs">,
): Decision<Answers["report-runs"]> {
  const link = state.nodes.get(nodeId)?.node.link;
  if (link?.kind !== "connected" || link.session !== session) {
    throw new AppError("conflict", `this is no longer the session of node ${nodeId}`);
  }
  const changes: Change[] = [];
  const stops: RunRef[] = [];
  // A batch may hold the start and the end of one run; the second must see the first.
  const moved = new Map<TaskKey, Task>();
  /** Whether a run that the agent has begun by itself is wanted. */
  const begin = (run: RunRef): boolean => {
    const key = keyOf(run);
    const task = moved.get(key) ?? state.task(run);
    if (task?.attempt !== run.attempt || !("nodeId" in task.state)) return false;
    if (task.state.nodeId !== nodeId) return false;
    if (isHeldTask(task)) moved.set(key, begun(task));
    return true;
  };
  for (const event of events) {
    const { run } = event;
    const key = keyOf(run);
    const job = state.jobs.get(run.jobId)?.job;
    const known = moved.get(key) ?? state.task(run);
    if (event.kind === "returned") {
      const isOurs = known !== undefined && isHeldTask(known) && known.state.nodeId === nodeId;
      const isThis = isOurs && known.attempt === run.attempt;
      if (isThis && known.state.heldAtMs === event.heldAtMs) moved.set(key, returned(known, nowMs));
      continue;
    }
    // A held run that the agent reports has begun.
    const task = known !== undefined && isHeldTask(known) ? begun(known) : known;
    const isOurs = task !== undefined && isActiveTask(task) && task.state.nodeId === nodeId;
    if (job === undefined || !isOurs || task.attempt !== run.attempt) {
      if (event.kind === "started") stops.push(run);
    } else {
      const told = plausible(event, task.state.assignedAtMs, nowMs, startOf(task.state));
      const after = told.kind === "started" ? started(task, told) : ended(job, task, told, nowMs);
      if (after !== known) moved.set(key, after);
    }
    const next = event.kind === "ended" ? event.began : undefined;
    if (next !== undefined && !begin(next)) stops.push(next);
  }
  for (const row of moved.values()) changes.push({ table: "task", row });
  return { changes, answer: { stops } };
}

type TaskKey = number | string;

/** A number for jobs with one task: a lookup by a new string costs as much as a report. */
const keyOf = ({ jobId, index }: RunRef): TaskKey => (index === 0 ? jobId : `${jobId}.${index}`);

/** The start or the end of a run. */
export type RunTransition = Exclude<RunEvent, { kind: "returned" }>;

/**
 * A node's clock may be wrong: nothing happens before the task was assigned, or after now. The duration
 * by that clock holds all the same, as far as it fits into that time.
 */
export function plausible<Event extends RunTransition>(
  event: Event,
  assignedAtMs: number,
  nowMs: number,
  knownStartMs: number | undefined,
): Event {
  const within = (ms: number): number => Math.max(assignedAtMs, Math.min(ms, nowMs));
  if (event.kind === "started") return { ...event, startedAtMs: within(event.startedAtMs) };
  if (event.startedAtMs === undefined) return { ...event, endedAtMs: within(event.endedAtMs) };
  const tookMs = Math.max(0, event.endedAtMs - event.startedAtMs);
  const futureMs = Math.max(0, event.endedAtMs - nowMs);
  const startedAtMs = within(event.startedAtMs - futureMs);
  const beganAtMs = knownStartMs ?? startedAtMs;
  return { ...event, startedAtMs, endedAtMs: Math.max(beganAtMs, within(beganAtMs + tookMs)) };
}

function started(
  task: Task & { readonly state: ActiveState },
  { startedAtMs }: RunEvent & { kind: "started" },
): Task {
  const { state } = task;
  // A task that is cancelled before its start is reported did run.
  if (state.kind === "stopping" && state.startedAtMs === undefined) {
    return { ...task, state: { ...state, startedAtMs } };
  }
  if (state.kind !== "assigned") return task;
  const { nodeId, assignedAtMs } = state;
  return { ...task, state: { kind: "running", nodeId, assignedAtMs, startedAtMs } };
}

export function ended(
  job: Job,
  running: Parameters<typeof failAttempt>[1],
  event: RunEvent & { kind: "ended" },
  nowMs: number,
): Task {
  const { outcome, usage } = event;
  const task = withFinal(running, event.progress);
  const endedAtMs = endOfRun(startOf(task.state), event, nowMs);
  const startedAtMs = startOf(task.state) ?? event.startedAtMs ?? endedAtMs;
  if (outcome.kind === "succeeded" && !startsAgain(job, task)) {
    const { state } = task;
    if (state.kind === "accepted") {
      const at = { ...ranBy(state), startedAtMs, endedAtMs };
      return withUsage({ ...task, state: { kind: "succeeded", ...at } }, usage);
    }
    if (isToRequeue(task) && job.closed === undefined) {
      return requeued(task, { startedAtMs, endedAtMs, nowMs, usage });
    }
    const { nodeId } = state;
    const row: Task = { ...task, state: { kind: "succeeded", nodeId, startedAtMs, endedAtMs } };
    return withUsage(row, usage);
  }
  // Stopped without a request of ours (or after it was dropped): for the job it counts as a signal.
  const failure: TaskFailure =
    outcome.kind === "stopped"
      ? { kind: "signalled", signal: "SIGTERM" }
      : outcome.kind === "succeeded"
        ? SUCCESS
        : outcome;
  return failAttempt(job, task, readable(failure), {
    startedAtMs: event.startedAtMs,
    endedAtMs,
    nowMs,
    usage,
  });
}

const SUCCESS: TaskFailure = { kind: "exited", exitCode: 0 };

/** Whether a service that has succeeded is started again; not one that was being stopped. */
const startsAgain = ({ spec, closed }: Job, { state }: Task): boolean =>
  spec.service !== undefined &&
  closed === undefined &&
  state.kind !== "stopping" &&
  isRestarted(spec.service, SUCCESS);

/**
 * An end is never before its start, or after now. When the server's clock was set back before the
 * start, only the duration of the run is left to go by.
 */
function endOfRun(
  knownStartMs: number | undefined,
  { startedAtMs, endedAtMs, usage }: RunEvent & { kind: "ended" },
  nowMs: number,
): number {
  const beganAtMs = knownStartMs ?? startedAtMs ?? 0;
  if (beganAtMs <= nowMs || usage?.wallUs === undefined) return Math.max(endedAtMs, beganAtMs);
  return beganAtMs + Math.min(Math.round(usage.wallUs / 1_000), limits.durationMsMax);
}

/** Agents are not trusted, and people read their messages about ends. */
function readable<Outcome extends TaskFailure>(outcome: Outcome): Outcome {
  return {
    ...outcome,
    ...("signal" in outcome && { signal: visible(outcome.signal, 32) }),
    ...("message" in outcome &&
      outcome.message !== undefined && {
        message: visible(outcome.message, limits.reasonLengthMax),
      }),
  };
}
