import { AppError, invalid } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import { MatchTotal } from "../../../graph/match/match-total.ts";
import type { GroupId, JobId } from "../../../model/ids.ts";
import { JOB_ID_MAX, jobId } from "../../../model/ids.ts";
import type { Job, JobSpec, JobTerms } from "../../../model/job/job.ts";
import { endedIfNothing, submittedSpec, taskTotalOf } from "../../../model/job/job.ts";
import { TERM_NAMES } from "../../../model/job/job-spec.ts";
import { isDeepEqual } from "../../../../lib/is-deep-equal.ts";
import type { Clause } from "../../../model/job/dependency.ts";
import type { Change } from "../../change.ts";
import { resolveDependencies } from "../../dependencies/resolve.ts";
import type { CommandOf, Decision } from "../../command.ts";
import type { Submission, Submitted } from "../../submission.ts";
import type { State } from "../../state.ts";
import { checkPossible, isSameRequest } from "./check-possible.ts";

/** All or none. A known idempotency key with the same spec returns the existing job. */
export function submitJobs(
  state: State,
  { submissions, by, nowMs, mustBePossible = false }: CommandOf<"submit-jobs">,
): Decision<readonly Submitted[]> {
  const jobs: Job[] = [];
  const answer: Submitted[] = [];
  const keysHere = new Map<string, Job>();
  let lastId = state.counter.lastJobId as number;
  let last: JobSpec | undefined;
  let isGraph = false;
  const total = new MatchTotal();
  for (const [at, submission] of submissions.entries()) {
    const { spec, idempotencyKey, instance, isHeld = false } = submission;
    const existing = findExisting(state, keysHere, submission, at);
    if (existing !== undefined) {
      answer.push({ id: existing, existed: true });
      continue;
    }
    const isKnown = last !== undefined && isSameRequest(last, spec);
    const isNothing = spec.energy?.wattSeconds === 0; // it needs no node
    if (mustBePossible && !isKnown && !isNothing) checkPossible(state, spec, { at, total });
    if (!isNothing) last = spec;
    const job: Job = {
      id: jobId(++lastId),
      spec,
      submittedAtMs: nowMs,
      submittedBy: by,
      idempotencyKey,
      closed: undefined,
      waitsFor: undefined,
      ...(instance && { instance }),
      ...(isHeld && !isNothing && { hold: { by, atMs: nowMs, reason: `held by ${by}` } }),
    };
    jobs.push(job);
    if (spec.dependsOn !== undefined) isGraph = true;
    if (idempotencyKey !== undefined) keysHere.set(idempotencyKey, job);
    answer.push({ id: job.id, existed: false });
  }
  if (jobs.length === 0) return { changes: [], answer };
  if (lastId > JOB_ID_MAX) throw new AppError("exhausted", "no job ids are left");
  const waitsFor = isGraph ? resolve(state, submissions, answer) : NOBODY_WAITS;
  checkQueueCapacity(state, jobs);
  const changes: Change[] = jobs.map((job) => ({
    table: "job",
    row: withClauses(job, waitsFor),
  }));
  changes.push({ table: "counter", row: { lastJobId: jobId(lastId) } });
  return { changes, answer };
}

const NOBODY_WAITS: ReadonlyMap<JobId, readonly Clause[]> = new Map();

const withClauses = (job: Job, waitsFor: ReadonlyMap<JobId, readonly Clause[]>): Job =>
  waitsFor.has(job.id)
    ? { ...job, waitsFor: waitsFor.get(job.id) }
    : endedIfNothing(job, job.submittedAtMs);

const resolve = (
  state: State,
  submissions: readonly Submission[],
  answer: readonly Submitted[],
): ReadonlyMap<JobId, readonly Clause[]> =>
  resolveDependencies(
    state,
    submissions.flatMap(({ spec }, at) => {
      const one = answer[at];
      return one === undefined ? [] : [{ id: one.id, spec, isNew: !one.existed }];
    }),
  );

function findExisting(
  state: State,
  keysHere: ReadonlyMap<string, Job>,
  { spec, idempotencyKey }: Submission,
  at: number,
): JobId | undefined {
  if (idempotencyKey === undefined) return undefined;
  const known = state.jobsByIdempotencyKey.get(idempotencyKey);
  const job = known === undefined ? keysHere.get(idempotencyKey) : state.jobs.get(known)?.job;
  if (job === undefined) return undefined;
  const field = `jobs[${at}].idempotencyKey`;
  const other = firstDifference(submittedSpec(job), spec);
  if (other === undefined) return job.id;
  throw new AppError(
    "already_exists",
    `job ${job.id} was submitted with this key and a spec that differs in ${other}`,
    { field },
  );
}

/** The names that callers use. */
const FIELDS: Readonly<Partial<Record<keyof JobSpec | keyof JobTerms, string>>> = {
  work: "command or script",
  needs: "resources",
  where: "placement",
};

function firstDifference(a: JobSpec, b: JobSpec): string | undefined {
  const own = (["name", "work", "dependsOn", "entries"] as const).find(
    (at) => !isDeepEqual(a[at], b[at]),
  );
  const found = own ?? TERM_NAMES.find((name) => !isDeepEqual(a.terms[name], b.terms[name]));
  return found === undefined ? undefined : (FIELDS[found] ?? found);
}

function checkQueueCapacity(state: State, jobs: readonly Job[]): void {
  if (state.unfinishedJobs + jobs.length > limits.unfinishedJobsMax) {
    throw new AppError(
      "exhausted",
      `the limit of ${limits.unfinishedJobsMax} unfinished jobs is reached; try again when some have ended`,
    );
  }
  const tasksByGroup = new Map<GroupId, number>();
  let total = 0;
  for (const { spec } of jobs) {
    const count = taskTotalOf(spec);
    total += count;
    tasksByGroup.set(spec.group, (tasksByGroup.get(spec.group) ?? 0) + count);
  }
  if (state.queuedTasks + total > limits.queuedTasksMax) {
    throw new AppError(
      "exhausted",
      `the limit of ${limits.queuedTasksMax} queued tasks is reached; try again when some have started`,
    );
  }
  for (const [id, count] of tasksByGroup) checkGroupCapacity(state, id, count);
}

/** Rejects tasks beyond the queue limit of the group. */
export function checkGroupCapacity(state: State, id: GroupId, count: number): void {
  const record = state.groups.get(id);
  if (record === undefined && state.groups.size >= limits.groupsMax) {
    throw invalid("group", `the limit of ${limits.groupsMax} groups is reached`);
  }
  const max = record?.group.queuedTasksMax;
  if (record === undefined || max === undefined) return;
  const queued = record.tasks.pending + record.tasks.waiting;
  if (queued + count > max) {
    throw new AppError(
      "exhausted",
      `group ${id} may queue at most ${max} tasks: it has ${queued}, and this adds ${count}`,
      { field: "group" },
    );
  }
}
