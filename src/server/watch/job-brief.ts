import type { Job } from "../../core/model/job/job.ts";
import type { Task } from "../../core/model/job/task.ts";
import type { Progress } from "../../core/model/progress.ts";
import { reasonOf } from "../views/show.ts";
import type { JobView } from "../views/views.ts";

/** What follows from a job's row and status alone. */
export interface JobBrief extends Pick<
  JobView,
  "id" | "state" | "tasks" | "submittedBy" | "reason" | "instance"
> {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly workload?: string | undefined;
  /** Of a job with one task. */
  readonly node?: string | undefined;
}

/** Showing the whole spec takes longer than all the rest. `only`: as in `showJob`. */
export function showBrief(job: Job, progress: Progress, only: Task | undefined): JobBrief {
  const { name, labels, work } = job.spec;
  const reason = reasonOf(job, only);
  return {
    id: String(job.id),
    name,
    labels,
    workload: work.kind === "workload" ? work.text : undefined,
    node: only !== undefined && "nodeId" in only.state ? only.state.nodeId : undefined,
    state: progress.state,
    tasks: progress.counts,
    submittedBy: job.submittedBy,
    ...(reason === undefined ? {} : { reason }),
    ...(job.instance === undefined ? {} : { instance: job.instance }),
  };
}
