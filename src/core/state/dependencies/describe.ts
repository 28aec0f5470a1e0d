import { limits } from "../../../limits.ts";
import type { DependencyTarget, TargetClause, Wanted } from "../../model/job/dependency.ts";
import type { JobRecord } from "../jobs/job-record.ts";
import type { JobTable } from "../jobs/job-table.ts";
import { isJobEnded, taskStateName } from "../../model/progress.ts";
import type { TaskStateName } from "../../model/progress.ts";
import type { Hold, HeldClause, Holds } from "./holds.ts";
import type { DependencyVerdict } from "./verdict.ts";
import { verdictOn } from "./verdict.ts";

/** The number of jobs that a sentence names. */
const NAMED_MAX = 3;

export const CONDITION_TEXTS: Readonly<Record<Wanted, string>> = {
  ok: "to succeed",
  any: "to end",
  "not-ok": "to end without success",
  started: "to start",
};

/** "waits for job 12 (build) to succeed": the first unmet dependency, and how many more there are. */
export function describeWaiting(jobs: JobTable, holds: Holds, hold: Hold): string {
  const open = hold.clauses.filter(({ isMet }) => !isMet);
  const [first] = open;
  if (first === undefined) return "is about to be queued";
  const more = open.length === 1 ? "" : `, and for ${count(open.length - 1, "more dependency")}`;
  return `waits for ${describeClause(jobs, holds, first)}${more}`;
}

function describeClause(jobs: JobTable, holds: Holds, { clause, met, lost }: HeldClause): string {
  if (clause.kind === "singleton") {
    const first = holds.singletons.first(clause.name);
    const who = first === undefined ? "others" : nameOf(jobs, { jobId: first });
    return `${who} to end (singleton ${clause.name})`;
  }
  const open = clause.of.length - met - lost;
  const needed = clause.atLeast - met;
  const some = needed < open ? `${needed} of ` : "";
  return `${some}${list(someNames(jobs, clause, "open"), open)} ${CONDITION_TEXTS[clause.when]}`;
}

/** Why a clause can never be met. */
export function describeBroken(jobs: JobTable, { clause, lost }: HeldClause): string {
  if (clause.kind === "singleton") return `singleton ${clause.name} can never end`;
  const { when, atLeast, of } = clause;
  const culprits = of
    .filter((target) => verdictOn(jobs, when, target) === "never")
    .slice(0, NAMED_MAX)
    .map((target) => `${nameOf(jobs, target)} ${describeOutcome(jobs, target, when)}`);
  const why = list(culprits, lost);
  if (atLeast === of.length)
    return `${why}; ${lost === 1 ? "it" : "they"} had ${CONDITION_TEXTS[when]}`;
  return `${atLeast} of ${of.length} had ${CONDITION_TEXTS[when]}, and ${lost} cannot: ${why}`;
}

/** "a, b and 4 more". */
function list(names: readonly string[], total: number): string {
  if (names.length === 0) return count(total, "job");
  const more = total - names.length;
  if (more > 0) return `${names.join(", ")} and ${more} more`;
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function someNames(jobs: JobTable, clause: TargetClause, verdict: DependencyVerdict): string[] {
  return clause.of
    .slice(0, limits.dependenciesShownMax)
    .filter((target) => verdictOn(jobs, clause.when, target) === verdict)
    .slice(0, NAMED_MAX)
    .map((target) => nameOf(jobs, target));
}

/** "job 12 (build)", "task 12.3 (sweep)". */
export function nameOf(jobs: JobTable, { jobId, index }: DependencyTarget): string {
  const id = index === undefined ? `job ${jobId}` : `task ${jobId}.${index}`;
  const record = jobs.get(jobId);
  return record === undefined ? id : `${id} (${record.job.spec.name})`;
}

/** The state of a job or task; undefined when it was removed. */
export function stateOfTarget(
  jobs: JobTable,
  { jobId, index }: DependencyTarget,
): TaskStateName | undefined {
  const record = jobs.get(jobId);
  if (record === undefined || index === undefined) return record?.progress.state;
  return taskStateName(record.job, record.task(index)?.state);
}

function describeOutcome(jobs: JobTable, target: DependencyTarget, when: Wanted): string {
  const record = jobs.get(target.jobId);
  if (record === undefined) return "was removed";
  if (when === "started") return "ended before it started";
  const state = stateOfTarget(jobs, target);
  if (target.index === undefined && !isJobEnded(record.progress)) return lostTasks(record);
  return state === "cancelled" || state === "skipped" ? `was ${state}` : `${state}`;
}

function lostTasks({ progress: { counts } }: JobRecord): string {
  const lost = counts.failed + counts.cancelled + counts.expired + counts.skipped;
  return `has ${count(lost, "task")} that did not succeed`;
}

const count = (many: number, noun: string): string =>
  many === 1
    ? `1 ${noun}`
    : `${many} ${noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`}`;
