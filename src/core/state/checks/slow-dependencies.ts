import { indexAt } from "../../model/job/array-range.ts";
import type { Clause, DependencyTarget, Wanted } from "../../model/job/dependency.ts";
import type { Job } from "../../model/job/job.ts";
import { rangesOf } from "../../model/job/job.ts";
import type { Task } from "../../model/job/task.ts";

/** All rows that exist, or ever did. */
export interface AllRows {
  job(id: number): Job | undefined;
  task(id: number, index: number): Task | undefined;
  jobs(): Iterable<Job>;
}

type Verdict = "met" | "never" | "open";
/** undefined: not ended yet. */
type End = "good" | "bad" | undefined;

/**
 * The conditions of a job from its rows alone, computed from scratch: the reference for the incremental
 * counts.
 */
function endOfTask(rows: AllRows, job: Job, index: number): End {
  const kind = rows.task(job.id, index)?.state.kind;
  if (kind === "succeeded") return "good";
  if (kind === "failed" || kind === "cancelled") return "bad";
  const hasNotStarted = kind === undefined || kind === "waiting";
  return hasNotStarted && job.closed !== undefined ? "bad" : undefined;
}

function hasTaskStarted(task: Task | undefined): boolean {
  if (task === undefined) return false;
  const own = "startedAtMs" in task.state ? task.state.startedAtMs : undefined;
  return own !== undefined || task.past.some(({ startedAtMs }) => startedAtMs !== undefined);
}

function indexesOf(job: Job): number[] {
  const indexes: number[] = [];
  for (let at = 0; ; at++) {
    const index = indexAt(rangesOf(job.spec), at);
    if (index === undefined) return indexes;
    indexes.push(index);
  }
}

export const hasJobEnded = (rows: AllRows, job: Job): boolean =>
  indexesOf(job).every((index) => endOfTask(rows, job, index) !== undefined);

export function slowVerdict(
  rows: AllRows,
  when: Wanted,
  { jobId, index }: DependencyTarget,
): Verdict {
  const job = rows.job(jobId);
  if (job === undefined) return "open"; // of the same submission, and not added yet
  const indexes = index === undefined ? indexesOf(job) : [index];
  const ends = indexes.map((one) => endOfTask(rows, job, one));
  const isOver = !ends.includes(undefined);
  const isBad = ends.includes("bad");
  if (when === "ok") return isBad ? "never" : isOver ? "met" : "open";
  if (when === "any") return isOver ? "met" : "open";
  if (when === "not-ok") return !isOver ? "open" : isBad ? "met" : "never";
  if (indexes.some((one) => hasTaskStarted(rows.task(jobId, one)))) return "met";
  return isOver ? "never" : "open";
}

/** The verdict on a clause of the job. */
export function slowClause(rows: AllRows, job: Job, clause: Clause): Verdict {
  if (clause.kind === "singleton") {
    for (const other of rows.jobs()) {
      const says = other.spec.dependsOn?.some(
        (one) => one.kind === "singleton" && one.name === clause.name,
      );
      if (says === true && other.id < job.id && !hasJobEnded(rows, other)) return "open";
    }
    return "met";
  }
  const verdicts = clause.of.map((target) => slowVerdict(rows, clause.when, target));
  const met = verdicts.filter((one) => one === "met").length;
  const lost = verdicts.filter((one) => one === "never").length;
  if (met >= clause.atLeast) return "met";
  return clause.of.length - lost < clause.atLeast ? "never" : "open";
}

export type DependencyOutcome = "release" | "skip" | "wait";

export function slowOutcome(
  rows: AllRows,
  job: Job,
  clauses: readonly Clause[],
): DependencyOutcome {
  const verdicts = clauses.map((clause) => slowClause(rows, job, clause));
  if (verdicts.includes("never")) return "skip";
  return verdicts.includes("open") ? "wait" : "release";
}
