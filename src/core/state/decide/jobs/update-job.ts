import { limits } from "../../../../limits.ts";
import { checkName, groupId } from "../../../model/ids.ts";
import { type Job, specWith, submittedSpec, type UpdatableTerms } from "../../../model/job/job.ts";
import { SPEC_RULES } from "../../../model/job/spec-rules.ts";
import { whole } from "../../../model/job/whole.ts";
import type { CommandOf, Decision } from "../../command.ts";
import type { JobUpdate } from "../../job-command.ts";
import type { State } from "../../state.ts";
import { checkGroupCapacity } from "../tasks/submit-jobs.ts";
import { openJobToChange } from "./job-to-change.ts";

/** Replaces terms of a job that has not ended: one row; its place in the queue follows. A time limit applies to attempts that are placed later. */
export function updateJob(state: State, command: CommandOf<"update-job">): Decision<undefined> {
  const { job, progress } = openJobToChange(state, command);
  const terms = toTerms(command.set);
  const { spec } = job;
  const changed = NAMES.filter((name) => name in terms && terms[name] !== spec.terms[name]);
  if (changed.length === 0) return { changes: [], answer: undefined };
  const { group = spec.group } = terms;
  if (group !== spec.group) {
    checkGroupCapacity(state, group, progress.counts.pending + progress.counts.waiting);
  }
  const first = submittedSpec(job).terms;
  const submitted = Object.fromEntries(
    NAMES.filter((name) => (name in terms ? terms : spec.terms)[name] !== first[name]).map(
      (name) => [name, first[name]],
    ),
  );
  const { submitted: _, ...rest } = job;
  const row: Job = {
    ...rest,
    spec: specWith(spec, terms),
    ...(Object.keys(submitted).length === 0 ? {} : { submitted }),
    changedBy: command.by,
  };
  return { changes: [{ table: "job", row }], answer: undefined };
}

const NAMES = ["priority", "timeLimitMs", "group"] as const satisfies (keyof UpdatableTerms)[];

function toTerms({ priority, timeLimitMs, group }: JobUpdate): Partial<UpdatableTerms> {
  return {
    ...(priority !== undefined && { priority: whole(priority, "priority", SPEC_RULES.priority) }),
    ...(timeLimitMs !== undefined && { timeLimitMs: toTimeLimit(timeLimitMs) }),
    ...(group !== undefined && { group: groupId(checkName(group, "group", limits.nameLengthMax)) }),
  };
}

const toTimeLimit = (given: number | null): number | undefined =>
  given === null ? undefined : whole(given, "timeLimitMs", SPEC_RULES.timeLimitMs);
