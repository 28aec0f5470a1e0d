import { indexAt } from "../../model/job/array-range.ts";
import { deadlineOf, type Job, rangesOf, taskTotalOf } from "../../model/job/job.ts";
import { placedOf, type Task, usageOf } from "../../model/job/task.ts";
import { addUsage } from "../../model/job/usage.ts";
import { requestKey } from "../../scheduler/request.ts";
import { isDeepEqual } from "../../../lib/is-deep-equal.ts";
import { energyOf, type EnergyProgress, mustGiveUp } from "../../model/energy-progress.ts";
import { prepareQuery } from "../jobs/job-index.ts";
import {
  endOf,
  isJobEnded,
  TASK_STATES,
  taskStateName,
  activeTasksOf,
} from "../../model/progress.ts";
import type { State } from "../state.ts";
import type { SeenJob } from "./all-jobs.ts";
import { isHeldBy } from "./holds.ts";

/** The tallies of each job, and its place in the queue. */
export function checkJobs(all: readonly SeenJob[]): string[] {
  const wrong: string[] = [];
  for (const { job, progress, ...record } of all) {
    wrong.push(...checkEnergy({ job, progress, ...record }));
    const counts = Object.fromEntries(TASK_STATES.map((name) => [name, 0]));
    for (const task of record.rows) {
      const name = taskStateName(job, task.state);
      counts[name] = (counts[name] ?? 0) + 1;
    }
    const rest = job.closed?.kind ?? "pending";
    counts[rest] = (counts[rest] ?? 0) + withoutRow(job, record.rows);
    for (const name of TASK_STATES) {
      if (counts[name] !== progress.counts[name]) {
        wrong.push(`job ${job.id} counts ${progress.counts[name]} ${name}, has ${counts[name]}`);
      }
    }
    const usage = record.rows.map(usageOf).reduce(addUsage, undefined);
    if (!isDeepEqual(usage, progress.usage)) {
      wrong.push(
        `job ${job.id} used ${JSON.stringify(progress.usage)}, its tasks ${JSON.stringify(usage)}`,
      );
    }
    const last = Math.max(record.rowRevision, ...record.revisions.map((at) => at + 1));
    if (record.revision !== last) {
      wrong.push(`job ${job.id} is at revision ${record.revision}, its rows at ${last}`);
    }
    const { lane } = record;
    const isHeld = isHeldBy(job, progress);
    if (isHeld && lane !== undefined) wrong.push(`job ${job.id} waits for others and is queued`);
    const isFree = progress.counts.pending > 0 && hasFreeTask(job, record.rows);
    const isAtTaskLimit = activeTasksOf(progress) >= (job.spec.tasksAtOnce ?? Infinity);
    const mayBePlaced = isFree && !isAtTaskLimit && !mustGiveUp(job, progress);
    if (mayBePlaced && lane === undefined && !isHeld && !record.isBackingOff) {
      wrong.push(`job ${job.id} has pending tasks and is not queued`);
    }
    if (lane === undefined) continue;
    const waitsFor = [lane.group.group.id, lane.priority, lane.request.key].join(" ");
    const asksFor = [job.spec.group, job.spec.priority, requestKey(job.spec)].join(" ");
    if (waitsFor !== asksFor)
      wrong.push(`job ${job.id} asks for ${asksFor}, waits for ${waitsFor}`);
  }
  return wrong;
}

/** Whether the job has a task that was never placed and is not on hold. */
function hasFreeTask({ spec, hold }: Job, rows: readonly Task[]): boolean {
  if (hold === undefined) return true;
  if (hold.tasks === undefined) return false;
  const placed = new Set(rows.map(({ index }) => index));
  for (let position = 0; position < taskTotalOf(spec); position++) {
    const index = indexAt(rangesOf(spec), position) ?? 0;
    const isHeld = hold.tasks.some(({ first, last }) => first <= position && position <= last);
    if (!isHeld && !placed.has(index)) return true;
  }
  return false;
}

/** The number of tasks without a row: for a job with energy, its unplaced energy is one. */
function withoutRow(job: Job, rows: readonly Task[]): number {
  const { energy } = job.spec;
  if (energy === undefined) return taskTotalOf(job.spec) - rows.length;
  return rows.reduce((rest, task) => rest - placedOf(task), energy.wattSeconds) > 0 ? 1 : 0;
}

/** Sums of shares equal those of the rows, and never exceed the job. */
function checkEnergy({ job, progress, rows }: SeenJob): string[] {
  const { energy } = job.spec;
  if (energy === undefined) return [];
  const sums = rows.map(energyOf);
  const sum = (name: keyof EnergyProgress): number =>
    sums.reduce((total, one) => total + one[name], 0);
  const wrong: string[] = [];
  for (const name of ["placed", "done", "failures", "losses", "lostForGood"] as const) {
    const known = progress.energy?.[name];
    if (known !== sum(name)) wrong.push(`job ${job.id} knows ${name} ${known}, has ${sum(name)}`);
  }
  if (sum("placed") > energy.wattSeconds || sum("done") > sum("placed")) {
    wrong.push(
      `job ${job.id} of ${energy.wattSeconds} Ws placed ${sum("placed")}, did ${sum("done")}`,
    );
  }
  return wrong;
}

/** The control loop knows each job that it has to give up: nothing else would ever end it. */
export const checkGivenUp = ({ failing }: State, all: readonly SeenJob[]): string[] =>
  all
    .filter(({ job, progress }) => job.closed === undefined && !isJobEnded(progress))
    .filter(({ job, progress }) => mustGiveUp(job, progress) && !failing.has(job.id))
    .map(({ job }) => `job ${job.id} has too many failed shares and is not given up`);

/** The facts of a folded job that are available without decoding equal those of its row. */
export function checkFolded(state: State, all: readonly SeenJob[]): string[] {
  const { jobs } = state;
  return all.flatMap(({ job, progress }) => {
    const mark = jobs.foldedEnd(job.id);
    const isSame =
      jobs.stateOf(job.id) === progress.state &&
      (mark === undefined ||
        (mark.group === job.spec.group && jobs.endOf(job.id) === endOf(job, progress)));
    const { group, labels, name } = job.spec;
    const { submittedBy } = job;
    const query = { states: [progress.state], group, labels, name, submittedBy };
    const isFound = state.index.mayHold(job.id, prepareQuery(query));
    return [
      ...(isSame ? [] : [`job ${job.id} is folded as ${JSON.stringify(mark)}`]),
      ...(isFound ? [] : [`job ${job.id} is not found by ${JSON.stringify(query)}`]),
    ];
  });
}

/** Jobs by key and by end are exactly the existing jobs. */
export function checkJobLists(state: State, all: readonly SeenJob[]): string[] {
  const wrong: string[] = [];
  const keyed = all.filter(({ job }) => job.idempotencyKey !== undefined);
  for (const { job } of keyed) {
    const found = state.jobsByIdempotencyKey.get(job.idempotencyKey ?? "");
    if (found !== job.id) wrong.push(`the key of job ${job.id} is known as that of ${found}`);
  }
  if (state.jobsByIdempotencyKey.size !== keyed.length)
    wrong.push(`${state.jobsByIdempotencyKey.size} keys are known, of ${keyed.length} jobs`);
  const ended = all.filter(({ progress }) => isJobEnded(progress));
  const rows = ended.reduce((sum, seen) => sum + seen.rows.length, 0);
  if (state.ended.count !== ended.length || state.ended.tasks !== rows)
    wrong.push(
      `${state.ended.count} jobs ended with ${state.ended.tasks} rows, not ${ended.length} with ${rows}`,
    );
  if (state.jobs.size !== all.length) wrong.push(`${state.jobs.size} jobs, ${all.length} in order`);
  return wrong;
}

/** The index of deadlines contains exactly the jobs that may still expire. */
export function checkDeadlines({ deadlines }: State, all: readonly SeenJob[]): string[] {
  const want = all
    .filter(({ job, progress }) => job.closed === undefined && !isJobEnded(progress))
    .filter(({ job, rows }) => job.spec.energy === undefined || rows.length === 0)
    .map(({ job }) => ({ atMs: deadlineOf(job) ?? Infinity, id: job.id }))
    .filter(({ atMs }) => atMs !== Infinity)
    .sort((a, b) => a.atMs - b.atMs || a.id - b.id);
  const known = [...deadlines.due(Infinity)];
  return isDeepEqual(known, want)
    ? []
    : [`the deadlines are ${JSON.stringify(known)}, not ${JSON.stringify(want)}`];
}
