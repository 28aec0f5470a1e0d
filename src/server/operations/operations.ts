import type { Principal } from "../../core/access/principal.ts";
import type { AskedPart } from "../../core/jobspec/asked-parts.ts";
import type { Jobspec } from "../../core/jobspec/model.ts";
import type { JobSpecInput } from "../../core/model/job/job-spec.ts";
import type { NodeStateName } from "../../core/model/node/node.ts";
import type { DocumentReader } from "../../ports/document-reader.ts";
import type { JobStateName, TaskStateName } from "../../core/state/jobs/progress.ts";
import type {
  ClusterView,
  CountsView,
  ExplanationView,
  GroupView,
  IssuedCredentialsView,
  JobView,
  NewestTaskView,
  NodeSettings,
  NodeView,
  OfferedTaskView,
  SatisfyView,
  StatsView,
  TaskView,
  TriedJobView,
} from "../views/views.ts";
import type { LoopTimes } from "../loop/loop-metrics.ts";
import type { OpenWatch, WatchCaller, WatchFormat, WatchSink } from "../watch/watch-format.ts";

/** Who asks, by the name that is written beside every change. */
export interface Caller {
  readonly name: string;
}

/**
 * The one way in: every door, and every part of the server that acts by itself, says for whom it
 * acts. Each operation is refused with `permission_denied` unless the principal has the permission
 * that it needs (see `needs.ts`).
 */
export interface OperationsAccess {
  as(principal: Principal): Operations;
}

/** What carries operations out, once they are allowed. */
export type CallerOperations = {
  readonly [Name in keyof Operations]: (
    caller: Caller,
    ...args: Parameters<Operations[Name]>
  ) => ReturnType<Operations[Name]>;
};

export interface Page {
  readonly pageSize?: number | undefined;
  readonly pageToken?: string | undefined;
}

export interface JobFilter {
  readonly states?: readonly JobStateName[] | undefined;
  readonly group?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly cluster?: string | undefined;
  readonly node?: string | undefined;
  readonly name?: string | undefined;
  readonly submittedBy?: string | undefined;
}

export interface SubmissionInput {
  readonly spec: JobSpecInput;
  readonly idempotencyKey?: string | undefined;
}

/** An array, or what reads them one by one: thousands need not be in memory at once. */
export type Submissions = Iterable<SubmissionInput> & { readonly length: number };

export interface SubmittedView {
  readonly id: string;
  readonly existed: boolean;
  readonly warning?: string;
}

export interface SubmitOptions {
  /** Takes work that nothing there is could ever run: what it needs may come. */
  readonly allowUnsatisfiable?: boolean | undefined;
}

/** A jobspec of any dialect: its tasks become jobs. */
export interface JobspecInput extends SubmitOptions {
  /** Its text, or what was read already. */
  readonly jobspec: string | Jobspec;
  /** Each job gets it with its own name behind it. */
  readonly idempotencyKey?: string | undefined;
  /** What holds for all of its jobs. */
  readonly common?: Pick<JobSpecInput, "group" | "labels" | "placement" | "priority" | "select">;
}

/** What would be submitted. */
export type TryInput =
  | { readonly kind: "jobs"; readonly jobs: Submissions }
  | { readonly kind: "jobspec"; readonly jobspec: JobspecInput };

export interface WatchQuery {
  /** Events after this revision; undefined: from now on. */
  readonly afterRevision?: number | undefined;
  readonly jobId?: string | undefined;
  readonly group?: string | undefined;
  /** Which kinds; empty or undefined: all. */
  readonly kinds?: readonly ("job" | "task" | "node" | "group")[] | undefined;
}

/** Where the events of a watch go, as what, and for whom. */
export interface WatchTarget {
  readonly format: WatchFormat;
  readonly sink: WatchSink;
  readonly caller: WatchCaller;
}

/** Where a listing of tasks goes on: in a job, or with the jobs that are older. */
export interface TaskPlace {
  readonly job: number;
  readonly position: number;
}

export interface NewestTasksQuery {
  /** From an earlier answer; undefined: from the newest job on. */
  readonly from?: TaskPlace | undefined;
  /** Only tasks that are not over. */
  readonly isOpenOnly: boolean;
}

export interface OutputQuery {
  /** "17", or "17.3" in an array. */
  readonly taskId: string;
  readonly stream: "stdout" | "stderr";
  readonly offset?: number | undefined;
  readonly follow?: boolean | undefined;
  /** Less at once than usual, for who wants only the beginning. */
  readonly chunkBytesMax?: number | undefined;
  /** undefined: the latest. */
  readonly attempt?: number | undefined;
}

export interface GroupSettings {
  readonly name: string;
  readonly weight?: number | undefined;
  readonly owner?: string | undefined;
  readonly runningTasksMax?: number | undefined;
  readonly queuedTasksMax?: number | undefined;
}

export interface ClusterInput {
  readonly name: string;
  /** A JSON Graph Format document, or its text. */
  readonly graph: unknown;
  readonly isUpdate?: boolean | undefined;
  /** A secret and a token for a new cluster, made in the same change. */
  readonly withCredentials?: boolean | undefined;
}

/** Texts that come from elsewhere. What is absent stays as it is. */
export interface CredentialsInput {
  readonly registerSecret?: string | undefined;
  /** null: none any more. */
  readonly globalToken?: string | null | undefined;
  readonly clusters?:
    | readonly {
        readonly name: string;
        readonly secret?: string | undefined;
        readonly token?: string | undefined;
      }[]
    | undefined;
}

export interface SubsystemRef {
  readonly cluster: string;
  readonly name: string;
}

export interface SubsystemInput extends SubsystemRef {
  /** A JSON Graph Format document, its text, or what was read of it already. */
  readonly document: unknown;
}

export interface ClusterStateInput {
  readonly cluster: string;
  /** null removes a key. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly remove?: readonly string[] | undefined;
  /** undefined: as they were. */
  readonly counters?: readonly { readonly key: string; readonly by: string }[] | undefined;
}

export interface SatisfyQuery {
  /**
   * A jobspec of any dialect (its text, or what was read already), trees of resources as in core/graph/request/request.ts, or what a
   * door has read of a jobspec: no parts are met by every cluster.
   */
  readonly ask:
    | { readonly kind: "jobspec"; readonly jobspec: string | Jobspec }
    | { readonly kind: "request"; readonly request: unknown }
    | {
        readonly kind: "parts";
        readonly parts: readonly AskedPart[];
        readonly parameters: unknown;
      };
  /** Only clusters that pull: all of them, or these, which are chosen from in this order. */
  readonly pulling?: { readonly names?: readonly string[] | undefined } | undefined;
  /** The caller shows nothing of it and only goes by it: it need not be durable. */
  readonly isAdvice?: boolean | undefined;
  readonly selection?:
    | {
        /** Undefined: the server's. */
        readonly strategy?: string | undefined;
        readonly options?: unknown;
        /** Beside those of the jobspec, before which they go. */
        readonly parameters?: Readonly<Record<string, unknown>> | undefined;
      }
    | undefined;
}

/** What a cluster says of a task that it took. */
export interface TaskReportInput {
  /** "17", or "17.3" in an array. */
  readonly id: string;
  /** Which one it speaks of; undefined: the one the cluster has. */
  readonly attempt?: number | undefined;
  /** running, succeeded, failed, returned (the cluster will not run it) */
  readonly state: string;
  readonly startedAtMs?: number | undefined;
  readonly endedAtMs?: number | undefined;
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly isTimeLimit?: boolean | undefined;
  /** The end of its output is kept. */
  readonly stdout?: string | undefined;
  readonly stderr?: string | undefined;
}

/**
 * Everything that one principal can ask of Busbar. Doors translate to and from this and decide nothing:
 * values are checked here, ids are texts as callers wrote them, and every refusal is an AppError.
 * Answers never show what is not durable.
 */
export interface Operations {
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
  /** Newest first. A page may be short, even empty, and still have a next one. */
  listJobs(
    filter: JobFilter,
    page: Page,
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
  /**
   * Tasks of all jobs, those of the newest job first. A page may be short, even empty, and still
   * have a next one.
   */
  listNewestTasks(query: NewestTasksQuery): Promise<{
    readonly tasks: readonly NewestTaskView[];
    readonly next?: TaskPlace;
    /** How many of all tasks are not over. */
    readonly openTotal: number;
  }>;
  /** "17" or "17.3". */
  getTask(id: string): Promise<TaskView>;
  cancelJob(id: string, reason: string): Promise<JobView>;
  explainJob(id: string): Promise<ExplanationView>;
  /** Ends when the output does (with follow: when the task has ended), or when `signal` aborts. */
  readOutput(
    query: OutputQuery,
    signal: AbortSignal,
  ): AsyncIterable<{ readonly data: Uint8Array; readonly truncated: boolean }>;
  /**
   * Starts with a "sync" event that tells from which revision it goes on; a "bookmark" now and then
   * tells an idle reader how far it is. Throws `compacted` when the revision is no longer kept,
   * `exhausted` when the caller has too many watches. A reader that is too slow to keep up is ended
   * with `exhausted` and the revision from which it can resume.
   */
  watch(query: WatchQuery, to: WatchTarget): OpenWatch;

  /** The bytes of a copy of all data; one at a time. */
  backup(): AsyncIterable<{ readonly data: Uint8Array }>;

  listNodes(
    filter: { readonly cluster?: string | undefined; readonly state?: NodeStateName | undefined },
    page: Page,
  ): Promise<{
    readonly nodes: readonly NodeView[];
    readonly nextPageToken?: string;
    readonly revision: number;
  }>;
  getNode(name: string): Promise<NodeView>;
  drainNode(name: string, reason: string): Promise<NodeView>;
  undrainNode(name: string): Promise<NodeView>;
  /** What becomes of its tasks when it is lost. What is absent stays as it is. */
  setNode(name: string, set: NodeSettings): Promise<NodeView>;
  removeNode(name: string): Promise<{ readonly revision: number }>;

  listClusters(): Promise<{ readonly clusters: readonly ClusterView[]; readonly revision: number }>;
  getCluster(name: string): Promise<ClusterView>;
  /**
   * The body of a registration in JSON, with its graph as `registerCluster` takes it. For bodies that
   * would take long to read.
   */
  readRegistration(body: Uint8Array): Promise<Readonly<Record<string, unknown>>>;
  /** A body that is the document of a subsystem, as `addSubsystem` takes it. */
  readSubsystem(body: Uint8Array): Promise<object>;
  /** The same of a body with a jobspec. */
  readJobspecBody: DocumentReader["jobspecBody"];
  /** Resolves when a document of so many bytes may be received; rejects with `exhausted`. */
  roomFor: DocumentReader["room"];
  /** A jobspec as doors with rules of their own look into it. */
  readJobspec(text: string): Promise<Jobspec>;
  /** A cluster that pulls, or with `isUpdate` another graph for one that is there. */
  registerCluster(
    cluster: ClusterInput,
  ): Promise<{ readonly cluster: ClusterView; readonly credentials?: IssuedCredentialsView }>;
  /** A cluster with agents only when it has no nodes any more. */
  deleteCluster(name: string): Promise<{ readonly revision: number }>;
  /** The text of a JSON Graph Format document. */
  getClusterGraph(name: string): Promise<string>;
  /** Adds what is linked to a cluster's graph, or replaces the subsystem of this name. */
  addSubsystem(subsystem: SubsystemInput): Promise<ClusterView>;
  removeSubsystem(which: SubsystemRef): Promise<{ readonly revision: number }>;
  /** The text of a JSON Graph Format document. */
  getSubsystem(which: SubsystemRef): Promise<string>;
  /** Keys told replace, others stay. */
  setClusterState(state: ClusterStateInput): Promise<ClusterView>;
  /** Tasks that wait for the cluster to take them, oldest first. */
  listOffered(
    cluster: string,
    max?: number,
  ): Promise<{
    readonly tasks: readonly OfferedTaskView[];
    readonly total: number;
    readonly revision: number;
  }>;
  /** The cluster takes tasks, to run them by itself. Each has one taker. */
  acceptTasks(
    cluster: string,
    ids: readonly string[],
  ): Promise<{
    readonly accepted: readonly string[];
    readonly refused: readonly { readonly id: string; readonly reason: string }[];
    readonly revision: number;
  }>;
  /** What became of tasks that the cluster took; answers with those that nobody wants any more. */
  reportTasks(
    cluster: string,
    reports: readonly TaskReportInput[],
  ): Promise<{ readonly unwanted: readonly string[]; readonly revision: number }>;
  /** Since when the server has them; absent: it has none. */
  getServerCredentials(): Promise<{
    readonly registerSinceMs?: number;
    readonly globalTokenSinceMs?: number;
  }>;
  /** New ones in the place of the old, which are refused from then on. */
  rotateCredentials(
    cluster: string,
    which: { readonly secret: boolean; readonly token: boolean },
  ): Promise<{ readonly credentials: IssuedCredentialsView; readonly revision: number }>;
  /** All or none; those that are the same already stay as they are. */
  setCredentials(credentials: CredentialsInput): Promise<{ readonly revision: number }>;
  /** Which clusters could run it, and why others could not. Nothing is changed. */
  satisfy(query: SatisfyQuery): Promise<SatisfyView>;

  listGroups(): Promise<{ readonly groups: readonly GroupView[]; readonly revision: number }>;
  /** Limits of 0 mean none. What is absent stays as it is. */
  putGroup(group: GroupSettings): Promise<GroupView>;
  removeGroup(name: string): Promise<{ readonly revision: number }>;

  stats(): Promise<StatsView>;
  /** Measured since the start, without waiting for anything to become durable. */
  times(): Promise<LoopTimes>;
  /** Whether commands are taken: false while starting, stopping or broken. */
  isReady(): boolean;
}
