import type { TaskStateName } from "../../../core/model/progress.ts";
import type { SatisfyView } from "../../views/satisfy-view.ts";
import type {
  CountsView,
  ExplanationView,
  JobView,
  TaskView,
  TriedJobView,
} from "../../views/views.ts";
import type { AttachListener, OpenAttachment } from "../../attach/agent-attachments.ts";
import type { AttachQuery } from "../../attach/attach-operation.ts";
import type { OpenWatch } from "../../watch/watch-format.ts";
import type {
  ChangeCondition,
  JobFilter,
  JobPage,
  JobUpdateInput,
  JobspecInput,
  OutputQuery,
  Page,
  ProgressInput,
  RerunInput,
  SatisfyQuery,
  Submissions,
  SubmitOptions,
  SubmittedView,
  TryInput,
  WatchQuery,
  WatchTarget,
} from "../operations.ts";

/** Operations for users of jobs. */
export interface UserOperations {
  submitJobs(
    jobs: Submissions,
    options?: SubmitOptions,
  ): Promise<{ readonly jobs: readonly SubmittedView[]; readonly revision: number }>;
  /** The jobs of a jobspec with their names; each comes after those it depends on. */
  submitJobspec(input: JobspecInput): Promise<{
    readonly jobs: readonly (SubmittedView & { readonly name: string })[];
    readonly revision: number;
  }>;
  /** Shows where tasks of these jobs would be placed now, or why they would stay pending. Changes nothing. */
  tryJobs(
    ask: TryInput,
  ): Promise<{ readonly jobs: readonly TriedJobView[]; readonly revision: number }>;
  getJob(id: string): Promise<JobView>;
  /** Newest first, or in an order. A page may be short, even empty, and still have a next one. */
  listJobs(
    filter: JobFilter,
    page: JobPage,
  ): Promise<{
    readonly jobs: readonly JobView[];
    readonly nextPageToken?: string;
    readonly revision: number;
  }>;
  countJobs(group?: string): Promise<CountsView>;
  listTasks(
    jobId: string,
    states: readonly TaskStateName[],
    page: Page,
  ): Promise<{
    readonly tasks: readonly TaskView[];
    readonly nextPageToken?: string;
    readonly revision: number;
  }>;
  /** "17" or "17.3". */
  getTask(id: string): Promise<TaskView>;
  cancelJob(id: string, reason: string, condition?: ChangeCondition): Promise<JobView>;
  /** Keeps a job, or one task of it, in the queue until it is released. */
  holdJob(id: string, reason: string, condition?: ChangeCondition): Promise<JobView>;
  releaseJob(id: string, condition?: ChangeCondition): Promise<JobView>;
  /** Stops running tasks, and places them again in new attempts. */
  requeueJob(id: string, reason: string, condition?: ChangeCondition): Promise<JobView>;
  /** Absent fields stay. */
  updateJob(id: string, set: JobUpdateInput): Promise<JobView>;
  /** Submits the spec of a job again. */
  rerunJob(
    id: string,
    options: RerunInput,
  ): Promise<{ readonly jobs: readonly SubmittedView[]; readonly revision: number }>;
  /**
   * Reports the progress of the current attempt at a task. Rejects with `conflict` for an attempt that is not current
   * or does not run. Resolves with the task when the report is durable.
   */
  reportProgress(id: string, progress: ProgressInput): Promise<TaskView>;
  explainJob(id: string): Promise<ExplanationView>;
  /** Ends at the end of the output (with follow: when the task has ended), or when `signal` aborts. */
  readOutput(
    query: OutputQuery,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly data: Uint8Array; readonly truncated: boolean }>;
  /**
   * Makes the caller the standard input or the terminal of a running task whose job has `attach`. The newest caller
   * wins. Rejects with `conflict` for a task that does not run or allows no client, with `exhausted` when too
   * many clients are attached, with `unavailable` while its node is disconnected.
   */
  attach(query: AttachQuery, listener: AttachListener): Promise<OpenAttachment>;
  /**
   * Starts with a "sync" event that has the revision from which it continues; a "bookmark" now and then
   * has the revision up to which an idle reader has seen all. Throws `compacted` when the revision is no longer
   * retained, `exhausted` when the caller has too many watches. The server ends a reader that is too slow
   * with `exhausted` and the revision from which it can resume.
   */
  watch(query: WatchQuery, to: WatchTarget): OpenWatch;
  /** Lists the clusters that could run it, and why others could not. Changes nothing. */
  satisfy(query: SatisfyQuery): Promise<SatisfyView>;
}
