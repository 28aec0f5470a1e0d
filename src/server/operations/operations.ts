import type { UserOperations } from "./audiences/user-operations.ts";
import type { OperatorOperations } from "./audiences/operator-operations.ts";
import type { ClusterOperations } from "./audiences/cluster-operations.ts";
import type { ServiceOperations } from "./audiences/service-operations.ts";
import type { DoorOperations } from "./audiences/door-operations.ts";
import type { Principal } from "../../core/access/principal.ts";
import type { RequestedPart } from "../../core/jobspec/requested-parts.ts";
import type { Jobspec } from "../../core/jobspec/model.ts";
import type { JobSpecInput } from "../../core/model/job/job-spec.ts";
import type { WatchedName } from "../../core/state/tables/tables.ts";
import type { JobStateName } from "../../core/model/progress.ts";
import type { WatchCaller, WatchFormat, WatchSink } from "../watch/watch-format.ts";

/** The principal, by the name that every change records. */
export interface Caller {
  readonly name: string;
}

/**
 * The only entry: every door, and every part of the server that acts by itself, names the principal that it
 * acts for. Each operation rejects with `permission_denied` unless the principal has the permission
 * that it needs (see `needs.ts`).
 */
export interface OperationsAccess {
  as(principal: Principal): Operations;
}

/** Carries out operations that are permitted. */
export type CallerOperations = {
  readonly [Name in keyof Operations]: (
    caller: Caller,
    ...args: Parameters<Operations[Name]>
  ) => ReturnType<Operations[Name]>;
};

/** The expected revision of a change; another one is rejected with `conflict` and the current revision. */
export interface ChangeCondition {
  /** Change the row only if it has exactly this revision; 0: only if there is no row. */
  readonly ifRevision?: number | undefined;
}

/** The fields of a job to replace. */
export interface JobUpdateInput extends ChangeCondition {
  readonly priority?: number | undefined;
  /** 0: none any more. */
  readonly timeLimitMs?: number | undefined;
  readonly group?: string | undefined;
}

/** How a job is submitted again. */
export interface RerunInput extends ChangeCondition {
  /** Only the tasks of an array that failed. */
  readonly failedOnly?: boolean | undefined;
  readonly idempotencyKey?: string | undefined;
}

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
  readonly submittedFromMs?: number | undefined;
  readonly submittedBeforeMs?: number | undefined;
}

/** A page of jobs, and its order. */
export interface JobPage extends Page {
  readonly sort?: string | undefined;
}

export interface SubmissionInput {
  readonly spec: JobSpecInput;
  readonly idempotencyKey?: string | undefined;
  /** It is on hold from the start. */
  readonly hold?: boolean | undefined;
}

/** An array, or an iterable that reads jobs one by one: thousands need not be in memory at once. */
export type Submissions = Iterable<SubmissionInput> & { readonly length: number };

export interface SubmittedView {
  readonly id: string;
  readonly existed: boolean;
  readonly warning?: string;
}

export interface SubmitOptions {
  /** Accepts unsatisfiable jobs: a node or cluster that can run them may join later. */
  readonly allowUnsatisfiable?: boolean | undefined;
}

/** A jobspec of any dialect: its tasks become jobs. */
export interface JobspecInput extends SubmitOptions {
  /** Its text, or the jobspec already read. */
  readonly jobspec: string | Jobspec;
  /** Each job has this key with its own name appended. */
  readonly idempotencyKey?: string | undefined;
  /** All of them are on hold from the start. */
  readonly hold?: boolean | undefined;
  /** Terms for all of its jobs. */
  readonly common?: Pick<JobSpecInput, "group" | "labels" | "placement" | "priority" | "select">;
}

/** The jobs that would be submitted. */
export type TryInput =
  | { readonly kind: "jobs"; readonly jobs: Submissions }
  | { readonly kind: "jobspec"; readonly jobspec: JobspecInput };

export interface WatchQuery {
  /** Events after this revision; undefined: from now on. */
  readonly afterRevision?: number | undefined;
  readonly jobId?: string | undefined;
  readonly group?: string | undefined;
  /** Which kinds; empty or undefined: all. */
  readonly kinds?: readonly WatchedName[] | undefined;
}

/** The sink, the format and the caller of a watch. */
export interface WatchTarget {
  readonly format: WatchFormat;
  readonly sink: WatchSink;
  readonly caller: WatchCaller;
}

/** Where a listing of tasks continues: in a job, or with older jobs. */
export interface TaskPlace {
  readonly job: number;
  readonly position: number;
}

export interface NewestTasksQuery {
  /** From an earlier answer; undefined: from the newest job on. */
  readonly from?: TaskPlace | undefined;
  /** Only tasks that have not ended. */
  readonly isOpenOnly: boolean;
}

export interface OutputQuery {
  /** "17", or "17.3" in an array. */
  readonly taskId: string;
  readonly stream: "stdout" | "stderr";
  readonly offset?: number | undefined;
  readonly follow?: boolean | undefined;
  /** undefined: the latest. */
  readonly attempt?: number | undefined;
}

export interface GroupSettings extends ChangeCondition {
  readonly name: string;
  readonly weight?: number | undefined;
  readonly owner?: string | undefined;
  readonly runningTasksMax?: number | undefined;
  readonly queuedTasksMax?: number | undefined;
  /** Whether placement of its tasks is paused. */
  readonly paused?: boolean | undefined;
}

export interface ClusterInput extends ChangeCondition {
  readonly name: string;
  /** A JSON Graph Format document, or its text. */
  readonly graph: unknown;
  readonly isUpdate?: boolean | undefined;
  /** A secret and a token for a new cluster, made in the same change. */
  readonly withCredentials?: boolean | undefined;
  /** Delivery of the answer with the credentials; absent: the caller certainly receives it. */
  readonly delivery?: AnswerDelivery | undefined;
}

/** The delivery of an answer to a caller that may be gone by then. */
export interface AnswerDelivery {
  /** Whether the caller is still waiting. */
  readonly isAwaited: boolean;
  /** Resolves when the call is over, with whether the whole answer was sent. */
  delivered(): Promise<boolean>;
}

/** Secrets that operators set. Absent ones stay. */
export interface CredentialsInput {
  readonly registerSecret?: string | undefined;
  /** null: remove it. */
  readonly globalToken?: string | null | undefined;
  readonly clusters?:
    | readonly {
        readonly name: string;
        readonly secret?: string | undefined;
        readonly token?: string | undefined;
      }[]
    | undefined;
}

export interface SubsystemRef extends ChangeCondition {
  readonly cluster: string;
  readonly name: string;
}

export interface SubsystemInput extends SubsystemRef {
  /** A JSON Graph Format document, its text, or the graph already read. */
  readonly document: unknown;
}

export interface ClusterStateInput extends ChangeCondition {
  readonly cluster: string;
  /** null removes a key. */
  readonly values: Readonly<Record<string, unknown>>;
  readonly remove?: readonly string[] | undefined;
  /** undefined: unchanged. */
  readonly counters?: readonly { readonly key: string; readonly by: string }[] | undefined;
}

/** A job that names no cluster, and how one of these is chosen for it. */
export interface ChosenJobInput extends Pick<SatisfyQuery, "ask"> {
  readonly job: SubmissionInput;
  readonly clusters: readonly string[];
  readonly selection: NonNullable<SatisfyQuery["selection"]>;
}

export interface SatisfyQuery {
  /**
   * A jobspec of any dialect (its text, or already read), trees of resources as in core/graph/request/request.ts, or the parts
   * of a jobspec that a door has read: every cluster satisfies an empty list.
   */
  readonly ask:
    | { readonly kind: "jobspec"; readonly jobspec: string | Jobspec }
    | { readonly kind: "request"; readonly request: unknown }
    | {
        readonly kind: "parts";
        readonly parts: readonly RequestedPart[];
        readonly parameters: unknown;
      };
  /** Only pull clusters: all of them, or these, in this order of preference. */
  readonly pulling?: { readonly names?: readonly string[] | undefined } | undefined;
  readonly selection?:
    | {
        /** Undefined: the server's. */
        readonly strategy?: string | undefined;
        readonly options?: unknown;
        /** In addition to those of the jobspec; these take precedence. */
        readonly parameters?: Readonly<Record<string, unknown>> | undefined;
      }
    | undefined;
}

/** A cluster's report about a task that it accepted. */
export interface TaskReportInput {
  /** "17", or "17.3" in an array. */
  readonly id: string;
  /** The reported attempt; undefined: the one that the cluster has. */
  readonly attempt?: number | undefined;
  /** running, succeeded, failed, returned (the cluster will not run it) */
  readonly state: string;
  readonly startedAtMs?: number | undefined;
  readonly endedAtMs?: number | undefined;
  readonly exitCode?: number | undefined;
  readonly signal?: string | undefined;
  readonly timeLimit?: boolean | undefined;
  /** The server retains the end of the output. */
  readonly stdout?: string | undefined;
  readonly stderr?: string | undefined;
  /** Its progress, also of an ended task. */
  readonly percent?: number | undefined;
  readonly message?: string | undefined;
}

/** The progress of the current attempt at a task. */
export interface ProgressInput {
  /** 0 to 100. */
  readonly percent: number;
  readonly message?: string | undefined;
  /** Undefined: the current one. */
  readonly attempt?: number | undefined;
}

/**
 * All operations of Busbar, for one principal. Doors translate to and from this and decide nothing:
 * operations check the values, ids are strings as callers wrote them, and every rejection is an AppError.
 * Answers never show changes that are not durable.
 */
export type Operations = UserOperations &
  ServiceOperations &
  OperatorOperations &
  ClusterOperations &
  DoorOperations;
