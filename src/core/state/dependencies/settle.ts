import { invariant } from "../../../lib/invariant.ts";
import type { Clause, DependencyTarget } from "../../model/job/dependency.ts";
import { endedIfNothing, type Job } from "../../model/job/job.ts";
import type { Change } from "../change.ts";
import { nextGivenUp } from "../energy/give-up.ts";
import type { JobTable } from "../jobs/job-table.ts";
import type { State } from "../state.ts";
import { describeBroken } from "./describe.ts";
import type { Hold, HeldClause } from "./holds.ts";
import { verdictOn } from "./verdict.ts";

/**
 * The next job with a known outcome: released into the queue, skipped, or given up. Reads the newest state: apply each change before the
 * next call. A skipped job has ended, so the next may be one of its dependents.
 */
export function nextSettlement(state: State, nowMs: number): Change | undefined {
  const hold = state.holds.nextSettled();
  if (hold !== undefined) return { table: "job", row: settled(state, hold, nowMs) };
  return nextGivenUp(state, nowMs);
}

/**
 * The row of a waiting job without targets whose outcome is known: these can then be removed, and a
 * restarted server still has all it needs.
 */
export function condense(state: State, hold: Hold, nowMs: number): Change {
  if (hold.broken !== undefined || hold.unmet === 0) {
    return { table: "job", row: settled(state, hold, nowMs) };
  }
  const left = hold.clauses.filter(({ isMet }) => !isMet);
  const waitsFor = left.map((held) => openPart(state.jobs, held));
  return { table: "job", row: { ...jobOf(state, hold), waitsFor } };
}

function openPart(jobs: JobTable, { clause, met }: HeldClause): Clause {
  if (clause.kind === "singleton") return clause;
  const isOpen = (target: DependencyTarget): boolean =>
    verdictOn(jobs, clause.when, target) === "open";
  return { ...clause, atLeast: clause.atLeast - met, of: clause.of.filter(isOpen) };
}

function settled(state: State, hold: Hold, atMs: number): Job {
  const job = jobOf(state, hold);
  if (hold.broken === undefined) return endedIfNothing({ ...job, waitsFor: undefined }, atMs);
  const reason = describeBroken(state.jobs, hold.broken);
  const closed = { kind: "skipped", atMs, by: "busbar", reason } as const;
  const isNeedless = wasNotNeeded(state.jobs, hold.broken);
  return { ...job, closed: isNeedless ? { ...closed, isNeedless } : closed };
}

/** Its condition was a failure that did not happen, or its target was itself not needed. */
function wasNotNeeded(jobs: JobTable, { clause }: HeldClause): boolean {
  if (clause.kind === "singleton") return false;
  const { when, of } = clause;
  if (when === "not-ok") return true;
  return of
    .filter((target) => verdictOn(jobs, when, target) === "never")
    .every(({ jobId }) => jobs.get(jobId)?.job.closed?.isNeedless === true);
}

function jobOf(state: State, { id }: Hold): Job {
  const job = state.jobs.getOpen(id)?.job;
  invariant(job !== undefined, `job ${id} waits and exists`);
  return job;
}
