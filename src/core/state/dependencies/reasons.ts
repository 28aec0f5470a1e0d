import { limits } from "../../../limits.ts";
import type { DependencyTarget } from "../../model/job/dependency.ts";
import type { Job } from "../../model/job/job.ts";
import type { State } from "../state.ts";
import { stateOfTarget, CONDITION_TEXTS } from "./describe.ts";
import type { DependencyVerdict } from "./verdict.ts";
import { verdictOn } from "./verdict.ts";

/** One dependency of a job, for explanations. */
export interface DependencyReason {
  readonly jobId: string;
  readonly name: string;
  readonly state: string;
  readonly wants: string;
  readonly met: boolean;
  readonly impossible: boolean;
}

interface Awaited {
  readonly target: DependencyTarget;
  readonly wants: string;
  readonly verdict: DependencyVerdict;
}

const RANK: Readonly<Record<DependencyVerdict, number>> = { never: 0, open: 1, met: 2 };

/** The dependencies of the job, or those it had when it was closed: unmet ones first, some of many. */
export function reasonsOf(state: State, job: Job): DependencyReason[] {
  return awaited(state, job)
    .sort((a, b) => RANK[a.verdict] - RANK[b.verdict])
    .slice(0, limits.dependenciesShownMax)
    .map((one) => toReason(state, one));
}

function awaited({ jobs, holds }: State, job: Job): Awaited[] {
  const found: Awaited[] = [];
  for (const clause of job.waitsFor ?? []) {
    if (clause.kind === "singleton") {
      const first = holds.singletons.first(clause.name);
      if (first === undefined || first >= job.id) continue; // it is next
      const wants = `to end (singleton ${clause.name})`;
      found.push({ target: { jobId: first }, wants, verdict: "open" });
      continue;
    }
    const { when, atLeast, of } = clause;
    const wants =
      atLeast < of.length
        ? `${CONDITION_TEXTS[when]} (${atLeast} of ${of.length})`
        : CONDITION_TEXTS[when];
    for (const target of of) found.push({ target, wants, verdict: verdictOn(jobs, when, target) });
  }
  return found;
}

function toReason({ jobs }: State, { target, wants, verdict }: Awaited): DependencyReason {
  const { jobId, index } = target;
  return {
    jobId: index === undefined ? String(jobId) : `${jobId}.${index}`,
    name: jobs.get(jobId)?.job.spec.name ?? "",
    state: stateOfTarget(jobs, target) ?? "removed",
    wants,
    met: verdict === "met",
    impossible: verdict === "never",
  };
}
