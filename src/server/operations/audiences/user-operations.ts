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

/** What users of jobs ask for. */
export interface UserOperations {
  submitJobs(
    jobs: Submissions,
    options?: SubmitOptions,
  ): Promise<{ readonly jobs: readonly SubmittedView[]; readonly revision: number }>;
  /** Its jobs in an order in which each comes after those it depends on, with their names. */
  submitJobspec(input: JobspecInput): Promise<{
    readonly jobs: readonly (SubmittedView & { readonly name: string })[];
    readonly revision: number;
  }>;
  /** Where the tasks of jobs would go now, or why they would wait. Changes nothing. */
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
  /** Stops what runs, and places it again in a new attempt. */
  requeueJob(id: string, reason: string, condition?: ChangeCondition): Promise<JobView>;
  /** What is absent stays as it is. */
  updateJob(id: string, set: JobUpdateInput): Promise<JobView>;
  /** Submits the spec of a job again. */
  rerunJob(
    id: string,
    options: RerunInput,
  ): Promise<{ readonly jobs: readonly SubmittedView[]; readonly revision: number }>;
  /**
   * How far the current attempt at a task is. Refused with `conflict` for one that is not current or
   * does not run. Answers with the task, once that is durable.
   */
  reportProgress(id: string, progress: ProgressInput): Promise<TaskView>;
  explainJob(id: string): Promise<ExplanationView>;
  /** Ends when the output does (with follow: when the task has ended), or when `signal` aborts. */
  readOutput(
    query: OutputQuery,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly data: Uint8Array; readonly truncated: boolean }>;
  /**
   * Makes the caller the standard input or the terminal of a running task whose job says `attach`. The newest caller
   * counts. Refused with `conflict` for a task that does not run or takes no client, with `exhausted` when too
   * many are attached, with `unavailable` while its node is away.
   */
  attach(query: AttachQuery, listener: AttachListener): Promise<OpenAttachment>;
  /**
   * Starts with a "sync" event that tells from which revision it goes on; a "bookmark" now and then
   * tells an idle reader how far it is. Throws `compacted` when the revision is no longer kept,
   * `exhausted` when the caller has too many watches. A reader that is too slow to keep up is ended
   * with `exhausted` and the revision from which it can resume.
   */
  watch(query: WatchQuery, to: WatchTarget): OpenWatch;
  /** Which clusters could run it, and why others could not. Nothing is changed. */
  satisfy(query: SatisfyQuery): Promise<SatisfyView>;
}
