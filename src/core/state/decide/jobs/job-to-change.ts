import { AppError } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import { hasIndex } from "../../../model/job/array-range.ts";
import type { JobId } from "../../../model/ids.ts";
import type { Job } from "../../../model/job/job.ts";
import { isJobEnded } from "../../../model/progress.ts";
import { visible } from "../../../model/texts.ts";
import type { JobRecord } from "../../jobs/job-record.ts";
import type { State } from "../../state.ts";
import { checkRevision, type Conditional } from "../if-revision.ts";

interface JobChange extends Conditional {
  readonly jobId: JobId;
  readonly index?: number | undefined;
}

/** The job of a command, at the revision that its caller has seen. */
export function jobToChange(state: State, command: JobChange): JobRecord {
  const { jobId, index } = command;
  const record = state.jobs.get(jobId);
  if (record === undefined) throw new AppError("not_found", `there is no job ${jobId}`);
  checkRevision(`job ${jobId}`, record.revision, command);
  if (index !== undefined && !hasIndex(record.ranges, index)) {
    throw new AppError("not_found", `job ${jobId} has no task ${index}`);
  }
  return record;
}

/** The same for a job that must not have ended. */
export function openJobToChange(state: State, command: JobChange): JobRecord {
  const record = jobToChange(state, command);
  const { job, progress } = record;
  if (isJobEnded(progress)) {
    const how = howToStartAgain(job);
    throw new AppError("conflict", `job ${job.id} has ended: ${progress.state}; ${how}`);
  }
  if (job.closed !== undefined) {
    throw new AppError(
      "conflict",
      `job ${job.id} is ${job.closed.kind}; its tasks are being stopped`,
    );
  }
  return record;
}

/** What starts the work of an ended job again. */
export const howToStartAgain = ({ id, instance }: Job): string =>
  instance === undefined
    ? `busbar rerun ${id} submits it again`
    : `busbar services apply ${instance.service} starts ended instances again`;

/** The reason for a change, as it is displayed. */
export const shownReason = (reason: string): string => visible(reason, limits.reasonLengthMax);
