import { AppError } from "../../../../lib/errors.ts";
import { hasIndex, type IndexRanges } from "../../../model/job/array-range.ts";
import { type JobSpec, SharedSpec } from "../../../model/job/job.ts";
import type { CommandOf, Decision } from "../../command.ts";
import type { Submitted } from "../../submission.ts";
import type { State } from "../../state.ts";
import { submitJobs } from "../tasks/submit-jobs.ts";
import { howToStartAgain, jobToChange } from "./job-to-change.ts";

/**
 * Submits the spec of a job again, or some of its tasks. The new job has no dependencies: those of the first job are over.
 * Rejects an instance of a service: its copy would belong to no service, and nothing would ever end it.
 */
export function rerunJob(state: State, command: CommandOf<"rerun-job">): Decision<Submitted> {
  const { job } = jobToChange(state, command);
  if (job.instance !== undefined) {
    const { service, name } = job.instance;
    const whose = `job ${job.id} is instance ${name} of service ${service}`;
    throw new AppError("conflict", `${whose}; ${howToStartAgain(job)}`);
  }
  const { idempotencyKey, by, nowMs } = command;
  const spec = specOf(job.spec, command);
  const submit = {
    kind: "submit-jobs",
    submissions: [{ spec, idempotencyKey }],
    by,
    nowMs,
  } as const;
  const { changes, answer } = submitJobs(state, submit);
  const [first] = answer;
  if (first === undefined) throw new AppError("internal", "a submission has an answer");
  return { changes, answer: first };
}

function specOf(spec: JobSpec, { jobId, only }: CommandOf<"rerun-job">): JobSpec {
  const { name, work, terms, energy } = spec;
  if (terms.attach !== undefined) {
    const what = terms.attach === "terminal" ? "terminal" : "standard input";
    const problem = `job ${jobId} had the ${what} of its client, which cannot be repeated`;
    throw new AppError("conflict", `${problem}; start it again with busbar run`);
  }
  if (only === undefined)
    return new SharedSpec(name, work, terms, { ...spec, dependsOn: undefined, energy });
  const { array } = terms;
  if (array === undefined || !isWithin(only, array)) {
    throw new AppError("not_found", `job ${jobId} has no such tasks`, { field: "only" });
  }
  return new SharedSpec(name, work, { ...terms, array: only }, { ...spec, dependsOn: undefined });
}

const isWithin = (some: IndexRanges, all: IndexRanges): boolean =>
  some.every(({ first, last }) => hasIndex(all, first) && hasIndex(all, last));
