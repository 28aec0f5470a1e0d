import type { Job } from "../../model/job/job.ts";
import type { HeldClause } from "../dependencies/holds.ts";
import type { Progress } from "../../model/progress.ts";
import { isJobEnded } from "../../model/progress.ts";
import type { State } from "../state.ts";
import type { SeenJob } from "./all-jobs.ts";
import type { AllRows } from "./slow-dependencies.ts";
import { slowClause, slowVerdict } from "./slow-dependencies.ts";

export function rowsOf(all: readonly SeenJob[]): AllRows {
  const byId = new Map(all.map((seen) => [seen.job.id as number, seen]));
  return {
    job: (id) => byId.get(id)?.job,
    task: (id, index) => byId.get(id)?.rows.find((task) => task.index === index),
    jobs: () => all.map(({ job }) => job),
  };
}

export const isHeldBy = (job: Job, progress: Progress): boolean =>
  job.waitsFor !== undefined && job.closed === undefined && !isJobEnded(progress);

/** The dependencies and their progress, computed again from the rows. */
export function checkHolds(state: State, all: readonly SeenJob[]): string[] {
  const wrong: string[] = [];
  const rows = rowsOf(all);
  const awaited = new Set<number>();
  const names = new Map<string, number>();
  let held = 0;
  for (const { job, progress } of all) {
    const isHeld = isHeldBy(job, progress);
    if (isHeld) held++;
    for (const one of job.spec.dependsOn ?? []) {
      if (one.kind !== "singleton" || isJobEnded(progress)) continue;
      if (!names.has(one.name)) names.set(one.name, job.id);
    }
    const hold = state.holds.get(job.id);
    if ((hold !== undefined) !== isHeld) wrong.push(`job ${job.id} is held: ${!isHeld}`);
    if (hold === undefined || !isHeld) continue;
    for (const one of hold.clauses) wrong.push(...checkClause(rows, job, one));
    for (const clause of job.waitsFor ?? []) {
      if (clause.kind === "singleton") continue;
      for (const { jobId } of clause.of) {
        awaited.add(jobId);
        const isKnown = [...state.holds.dependentsOf(jobId)].includes(hold);
        if (!isKnown) wrong.push(`job ${jobId} does not know that job ${job.id} waits for it`);
        if (rows.job(jobId) === undefined) wrong.push(`job ${job.id} waits for ${jobId}, gone`);
      }
    }
  }
  if (held !== state.holds.size) wrong.push(`${held} jobs wait, ${state.holds.size} are held`);
  for (const { job } of all) {
    if (state.holds.hasDependents(job.id) !== awaited.has(job.id))
      wrong.push(`job ${job.id} has dependents: ${!awaited.has(job.id)}`);
  }
  for (const [name, first] of names) {
    const found = state.holds.singletons.first(name);
    if (found !== first) wrong.push(`singleton ${name} is at ${found}, not ${first}`);
  }
  return wrong;
}

function checkClause(rows: AllRows, job: Job, { clause, met, lost, isMet }: HeldClause): string[] {
  const wrong: string[] = [];
  if ((slowClause(rows, job, clause) === "met") !== isMet) {
    wrong.push(`job ${job.id} takes ${JSON.stringify(clause)} for ${isMet ? "met" : "not met"}`);
  }
  if (clause.kind === "singleton") return wrong;
  const verdicts = clause.of.map((target) => slowVerdict(rows, clause.when, target));
  const count = (verdict: string): number => verdicts.filter((one) => one === verdict).length;
  if (count("met") !== met || count("never") !== lost) {
    wrong.push(`job ${job.id} counts ${met} met and ${lost} lost in ${JSON.stringify(clause)}`);
  }
  return wrong;
}
