import type { Clause, DependencyTarget } from "../../src/core/model/job/dependency.ts";
import { WANTED } from "../../src/core/model/job/dependency.ts";
import { jobId } from "../../src/core/model/ids.ts";
import type { Job } from "../../src/core/model/job/job.ts";
import type { DependencyOutcome } from "../../src/core/state/checks/slow-dependencies.ts";
import { slowOutcome } from "../../src/core/state/checks/slow-dependencies.ts";
import type { Verdict } from "./checkers.ts";
import type { BatchMoves, Durable } from "./durable.ts";

/** A task is placed for the first time only when all dependencies of its job are met. */
export function dependentsWait({ ever }: Durable, moves: BatchMoves): Verdict {
  for (const { before, after } of moves.tasks) {
    if (after === undefined || after.attempt === 0 || (before?.attempt ?? 0) > 0) continue;
    const job = ever.job(after.jobId);
    if (job?.spec.dependsOn === undefined) continue;
    const outcome = outcomeOf(ever, job);
    if (outcome !== "release")
      return `task ${after.jobId}.${after.index} is placed, and should ${outcome}`;
  }
  return undefined;
}

/** The dependencies of a skipped job could never have been met. */
export function skipsAreDue({ ever }: Durable, moves: BatchMoves): Verdict {
  for (const { before, after } of moves.jobs) {
    if (after?.closed?.kind !== "skipped" || before?.closed !== undefined) continue;
    const outcome = outcomeOf(ever, after);
    if (outcome !== "skip") return `job ${after.id} is skipped, and should ${outcome}`;
  }
  return undefined;
}

/** No decided job waits: the decision is written in the same batch as its cause. */
export function fatesAreWritten(durable: Durable): Verdict {
  for (const job of durable.jobs.values()) {
    if (job.waitsFor === undefined || durable.unfinished(job) === 0) continue;
    const outcome = outcomeOf(durable.ever, job);
    if (outcome !== "wait") return `job ${job.id} waits, and should ${outcome}`;
  }
  return undefined;
}

/** From the first written row, resolved again: names are unique here. */
function outcomeOf(ever: Durable["ever"], job: Job): DependencyOutcome {
  const clauses = (job.spec.dependsOn ?? []).map((one): Clause => {
    if (one.kind === "singleton") return one;
    // By id and by name it is still one job.
    const targets = one.on.map((text): DependencyTarget => toTarget(ever, text));
    const of = [...new Map(targets.map((target) => [JSON.stringify(target), target])).values()];
    return { kind: "jobs", when: WANTED[one.kind], atLeast: one.atLeast ?? of.length, of };
  });
  return slowOutcome(ever, job, clauses);
}

function toTarget(ever: Durable["ever"], text: string): DependencyTarget {
  const [name = "", index] = text.split(".");
  const id = jobId(/^\d+$/.test(name) ? Number(name) : (ever.idByName.get(name) ?? 0));
  return index === undefined ? { jobId: id } : { jobId: id, index: Number(index) };
}
