import { AppError } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import type { TaskRef } from "../../../model/ids.ts";
import type { AcceptedState, Task, ReportedOutput } from "../../../model/job/task.ts";
import { advance } from "../../../model/job/task-progress.ts";
import type { Change } from "../../change.ts";
import type { Answers, CommandOf, Decision, TaskEvent } from "../../command.ts";
import type { State } from "../../state.ts";
import { requireCluster } from "../clusters.ts";
import {
  type AcceptedTask,
  failForGood,
  isAcceptedTask,
  loseAttempt,
  withdrawn,
} from "./end-attempt.ts";
import { whyKeptBack } from "./kept-back.ts";
import { ended, plausible, type RunTransition } from "./report-runs.ts";

/**
 * A cluster accepts offered tasks, to run them by itself. Each task can be accepted once: a task that was
 * accepted, cancelled or withdrawn meanwhile is rejected, and the cluster still gets the rest.
 */
export function acceptTasks(
  state: State,
  { cluster, tasks, nowMs }: CommandOf<"accept-tasks">,
): Decision<Answers["accept-tasks"]> {
  requireCluster(state, cluster);
  const changes: Change[] = [];
  const accepted: TaskRef[] = [];
  const refused: { readonly task: TaskRef; readonly reason: string }[] = [];
  const taken = new Set<Task>();
  for (const ref of tasks) {
    const task = state.task(ref);
    if (task?.state.kind !== "offered" || task.state.cluster !== cluster || taken.has(task)) {
      refused.push({ task: ref, reason: whyNot(task, cluster) });
      continue;
    }
    const keptBack = whyKeptBack(state, ref);
    if (keptBack !== undefined) {
      refused.push({ task: ref, reason: keptBack });
      continue;
    }
    taken.add(task);
    accepted.push(ref);
    const at: AcceptedState = {
      kind: "accepted",
      cluster,
      acceptedAtMs: nowMs,
      startedAtMs: undefined,
      heardAtMs: nowMs,
    };
    changes.push({ table: "task", row: { ...task, state: at } });
  }
  return { changes, answer: { accepted, refused } };
}

function whyNot(task: Task | undefined, cluster: string): string {
  if (task === undefined) return "it is not offered to any cluster";
  const { state } = task;
  if (state.kind === "offered") {
    return state.cluster === cluster
      ? "it appears twice in the request"
      : "it is offered to another cluster";
  }
  return state.kind === "waiting" ? "it is back in the queue" : `it is ${state.kind} already`;
}

/**
 * A cluster reports tasks that it accepted. Only tasks that are still its own change; reports about
 * others are out of date, but the answer lists unwanted ones that still run, so that the cluster stops them.
 */
export function reportTasks(
  state: State,
  { cluster, events, nowMs }: CommandOf<"report-tasks">,
): Decision<Answers["report-tasks"]> {
  requireCluster(state, cluster);
  const unwanted: TaskRef[] = [];
  const moved = new Map<string, Task>();
  let { reportedChars } = state.acceptedTasks;
  for (const event of events) {
    const { jobId, index } = event.task;
    const key = `${jobId}.${index}`;
    const task = moved.get(key) ?? state.task(event.task);
    const isOurs = task !== undefined && isAcceptedTask(task) && task.state.cluster === cluster;
    if (!isOurs || (event.attempt !== undefined && event.attempt !== task.attempt)) {
      if (event.kind === "started") unwanted.push(event.task);
      continue;
    }
    const told = event.kind === "ended" ? kept(event.output, reportedChars) : undefined;
    if (told !== undefined) reportedChars += told.stdout.length + told.stderr.length;
    moved.set(key, after(state, task, event, told, nowMs));
  }
  const changes: Change[] = [];
  for (const row of moved.values()) changes.push({ table: "task", row });
  return { changes, answer: { unwanted } };
}

/** The end of the reported output, while the total is below its limit. */
function kept(
  output: ReportedOutput | undefined,
  reportedChars: number,
): ReportedOutput | undefined {
  if (output === undefined) return undefined;
  const most = limits.reportedOutputCharsMax;
  const told = { stdout: output.stdout.slice(-most), stderr: output.stderr.slice(-most) };
  const fits =
    reportedChars + told.stdout.length + told.stderr.length <= limits.reportedCharsTotalMax;
  return fits ? told : undefined;
}

function after(
  state: State,
  task: AcceptedTask,
  event: TaskEvent,
  told: ReportedOutput | undefined,
  nowMs: number,
): Task {
  const job = state.jobs.get(task.jobId)?.job;
  if (job === undefined) throw new AppError("internal", `task ${task.jobId} has no job`);
  if (event.kind === "returned") {
    // A started task is lost; any other is as if the cluster had never accepted it.
    const message = `cluster ${task.state.cluster} returned it after its start`;
    return task.state.startedAtMs === undefined
      ? withdrawn(task, nowMs)
      : loseAttempt(job, task, message, nowMs);
  }
  const run = { jobId: task.jobId, index: task.index, attempt: task.attempt };
  const { acceptedAtMs, startedAtMs: known } = task.state;
  const said = plausible<RunTransition>({ ...event, run }, acceptedAtMs, nowMs, known);
  if (said.kind === "started") {
    const startedAtMs = task.state.startedAtMs ?? said.startedAtMs;
    const further = event.kind === "started" ? event.progress : undefined;
    const progress = further && advance(task.progress, further, nowMs);
    const state = { ...task.state, startedAtMs, heardAtMs: nowMs };
    return { ...task, state, ...(progress && { progress }) };
  }
  const row = ended(job, task, said, nowMs);
  return told === undefined ? row : { ...row, told };
}

/** Fails tasks that their clusters have not reported for too long: their outcome is unknown. */
export function failSilent(state: State, nowMs: number): Change[] {
  const changes: Change[] = [];
  for (const task of state.acceptedTasks.inOrder()) {
    if (changes.length >= limits.removalsPerTickMax || silentAtMs(task) > nowMs) break;
    const message = `cluster ${task.state.cluster} accepted it and did not report on it in time`;
    changes.push({ table: "task", row: failForGood(task, message, nowMs) });
  }
  return changes;
}

export const silentAtMs = ({ state }: AcceptedTask): number =>
  state.heardAtMs + limits.acceptedSilenceMsMax;
