import type { JobChangesView } from "./not-placed.ts";
import type { InstanceRefView, ServiceRowView } from "../services/service-views.ts";
import type { JobEnergyView, PowerView, ShareView } from "./energy-views.ts";
import type { JobSpec } from "../../gen/busbar/v1/busbar_pb.ts";
import type { JsonOf } from "../../wire/json-shape.ts";
import type { StateCounter, StateValue } from "../../core/graph/cluster-state.ts";
import type { ResourceChoice } from "../../core/graph/request/request.ts";
import type { Cluster } from "../../core/model/cluster.ts";
import type { NodeStateName } from "../../core/model/node/node.ts";
import type { Note } from "../../core/model/note.ts";
import type { NodeFacts } from "../../core/model/node/node-facts.ts";
import type { JobStateName, TaskCounts, TaskStateName } from "../../core/model/progress.ts";
import type { Texts } from "../../core/model/job/job.ts";
import type { TaskFailure } from "../../core/model/job/task.ts";

/**
 * The views that callers see through every door: the JSON of the wire's messages, in the units people
 * write (cpu in cpus, memory and disk in bytes); a field that does not apply is absent. The REST API sends these
 * unchanged. A spec has the fields of the schema; the server fills in the fields named here.
 */
export interface JobSpecView extends Omit<JsonOf<JobSpec>, "name" | "request"> {
  readonly name: string;
  readonly group: string;
  readonly resources: Readonly<Record<string, number>>;
  readonly priority: number;
  readonly killGraceMs: number;
  readonly outputLimitBytes: number;
  /** The graph request of each task; `resources` is roughly its total. */
  readonly request?: ResourceChoice;
}

/** `revision` is that of the last change of the shown data: docs/design/revisions.md. */
export interface JobView extends JobChangesView {
  readonly id: string;
  readonly spec: JobSpecView;
  readonly state: JobStateName;
  readonly tasks: TaskCounts;
  readonly taskTotal: number;
  readonly submittedAtMs: number;
  readonly submittedBy: string;
  /** The principal that cancelled the whole job; absent: nobody did. */
  readonly cancelledBy?: string;
  readonly startedAtMs?: number;
  readonly endedAtMs?: number;
  readonly idempotencyKey?: string;
  /** Why it was cancelled, expired, skipped or failed, or why it is pending, when that is known. */
  readonly reason?: string;
  /** Once ended: 0 when all succeeded, that of the task when there is one, else 1. */
  readonly exitCode?: number;
  /** The usage of all ended attempts at all of its tasks. */
  readonly usage?: UsageView;
  /** The mean over its tasks; absent: none of them reported any. */
  readonly progress?: ProgressView;
  /** For a job that is split by energy. */
  readonly energy?: JobEnergyView;
  /** For an instance of a service; absent: it belongs to none. */
  readonly instance?: InstanceRefView;
  /** For a job that is a service: how often its task was restarted; absent: never. */
  readonly restarts?: number;
  readonly revision: number;
}

/** The progress of a task or a job. */
export interface ProgressView {
  /** 0 to 100, in hundredths. */
  readonly percent: number;
  /** For a job: only if it has a single task. */
  readonly message?: string;
  /** When the server received it; absent for ended tasks and for arrays. */
  readonly reportedAtMs?: number;
}

/** The usage of attempts, as agents measured it. An unknown number is absent. */
export interface UsageView {
  /** User and system time. */
  readonly cpuMs?: number;
  readonly wallMs?: number;
  /** Of the largest process; for several attempts the maximum. Absent in sums over many jobs. */
  readonly maxRssBytes?: number;
  readonly majorFaults?: number;
}

export interface PastAttemptView {
  readonly attempt: number;
  readonly node?: string;
  /** The cluster that it was assigned to. */
  readonly cluster?: string;
  readonly startedAtMs?: number;
  readonly endedAtMs: number;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly reason: string;
  readonly usage?: UsageView;
}

export interface TaskView {
  readonly id: string;
  readonly jobId: string;
  readonly index: number;
  readonly state: TaskStateName;
  readonly attempt: number;
  readonly node?: string;
  readonly cluster?: string;
  readonly assignedAtMs?: number;
  readonly startedAtMs?: number;
  readonly endedAtMs?: number;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly reason?: string;
  readonly notBeforeMs?: number;
  readonly past: readonly PastAttemptView[];
  /** How it failed. */
  readonly failure?: TaskFailure["kind"];
  /** For the latest attempt, once it has ended. */
  readonly usage?: UsageView;
  /** For the latest attempt; absent: it reported none. */
  readonly progress?: ProgressView;
  /** For a job that is split by energy, once it is placed. */
  readonly share?: ShareView;
  /** For a task of a service: how often it was restarted; absent: never. */
  readonly restarts?: number;
  readonly revision: number;
}

/** One task in a list of the tasks of all jobs: only the fields of such a list. */
export interface NewestTaskView extends Pick<
  TaskView,
  "id" | "jobId" | "index" | "state" | "attempt" | "node" | "cluster" | "reason"
> {
  /** Why it failed. */
  readonly failure?: TaskFailure["kind"];
  /** Its command; for a script or a whole jobspec only the job's name. */
  readonly command: readonly string[];
  readonly isOver: boolean;
}

/** A task that is offered to a cluster. */
export interface OfferedTaskView {
  readonly id: string;
  readonly attempt: number;
  readonly name: string;
  readonly jobspec: string | undefined; // for a task of a whole jobspec
  readonly spec: JobSpecView; // made on access
  readonly offeredAtMs: number;
}

export interface NodeSettings {
  /** requeue, keep or fail; "agent": the setting of its agent. */
  readonly onLost?: string | undefined;
  /** 0: the setting of its agent, or of the server. */
  readonly lostAfterMs?: number | undefined;
}

export interface NodeView {
  readonly name: string;
  readonly cluster: string;
  readonly state: NodeStateName;
  readonly capacity: Readonly<Record<string, number>>;
  readonly used: Readonly<Record<string, number>>;
  readonly labels: Texts;
  readonly tasks: number;
  /** Tasks fetched ahead, which use nothing yet. */
  readonly held: number;
  /** How many it may hold, given the times of its last tasks; absent: none. */
  readonly heldMax?: number;
  readonly taskMsMean?: number;
  readonly connectedAtMs?: number;
  readonly disconnectedAtMs?: number;
  readonly drainReason?: string;
  readonly drainedBy?: string;
  /** The principal that last drained, undrained or set it; absent: unknown. */
  readonly changedBy?: string;
  /** Why its agent cannot start processes, and since when; absent: it can. */
  readonly sickness?: string;
  readonly sickAtMs?: number;
  /** Why it is assigned one task at a time, or none, since when, and when the next; absent: not quarantined. */
  readonly quarantine?: string;
  readonly quarantinedAtMs?: number;
  readonly probeAtMs?: number;
  /** What happens to its tasks when it is lost; absent: they are placed again elsewhere. */
  readonly onLost?: "keep" | "fail";
  /** How long it may be disconnected before it is lost; absent: the server's default. */
  readonly lostAfterMs?: number;
  /** How far its clock is ahead of the server's; below zero: behind; absent: not by much. */
  readonly clockOffsetMs?: number;
  readonly agentVersion: string;
  /** The last address of its agent; absent: unknown. */
  readonly address?: string;
  /** Its agent is the agent of the whole cluster, and accepts tasks offered to the cluster. */
  readonly isClusterAgent: boolean;
  /** Its power for shares of jobs with energy; absent: it accepts none. */
  readonly power?: PowerView;
  /** The facts of its machine; only in the view of one node. */
  readonly facts?: NodeFacts;
  readonly revision: number;
}

export interface ClusterView {
  readonly name: string;
  /** managed: its nodes have agents; pulling: it was registered with a graph. */
  readonly kind: Cluster["kind"];
  readonly createdAtMs: number;
  /** Absent: unknown. */
  readonly registeredBy?: string;
  /** The principal that last replaced its graph, or added or removed a subsystem. */
  readonly changedBy?: string;
  /** The principal that last set its state. */
  readonly stateChangedBy?: string;
  readonly nodes: number;
  readonly nodesConnected: number;
  readonly capacity: Readonly<Record<string, number>>;
  readonly used: Readonly<Record<string, number>>;
  readonly tasks: number;
  /** For the graph of a pull cluster: the number of vertices of each type. */
  readonly vertices: Readonly<Record<string, number>>;
  readonly subsystems: readonly SubsystemView[];
  /** Its reported state, by key. */
  readonly state: readonly StateEntryView[];
  /** Keys that count down as jobs are assigned. */
  readonly counters: readonly StateCounter[];
  /** When each of its credentials was made; the server does not have the secrets themselves. */
  readonly credentials: CredentialTimesView;
  readonly revision: number;
}

/** A cluster as events show it. */
export type ClusterRowView = Pick<
  ClusterView,
  | "name"
  | "kind"
  | "createdAtMs"
  | "registeredBy"
  | "changedBy"
  | "stateChangedBy"
  | "state"
  | "counters"
  | "revision"
>;

export interface CredentialTimesView {
  readonly secretSinceMs?: number;
  readonly tokenSinceMs?: number;
}

/** Secrets, sent once to the caller that created them. */
export interface IssuedCredentialsView {
  readonly secret?: string;
  readonly token?: string;
}

export interface SubsystemView {
  readonly name: string;
  readonly vertices: number;
  /** From vertices of the cluster's graph. */
  readonly links: number;
}

export interface StateEntryView {
  readonly key: string;
  readonly value: StateValue;
  readonly setAtMs: number;
}

export interface GroupView {
  readonly name: string;
  readonly weight: number;
  readonly owner: string;
  readonly runningTasksMax?: number;
  readonly queuedTasksMax?: number;
  /** The principal that last changed it; absent: nobody did, or it is unknown. */
  /** The principal that paused it: its tasks are not placed. */
  readonly pausedBy?: string;
  readonly changedBy?: string;
  readonly tasks: TaskCounts;
  readonly used: Readonly<Record<string, number>>;
  /** The usage of all attempts at tasks of its jobs, while the server retains them. */
  readonly usage?: UsageView;
  /** 0: it was never written, and has the defaults. */
  readonly revision: number;
}

export interface CountsView {
  readonly jobs: Readonly<Record<JobStateName, number>>;
  readonly tasks: TaskCounts;
  readonly revision: number;
}

export interface NodeReasonView {
  readonly reason: string;
  readonly nodes: number;
  readonly never: boolean;
  readonly examples: readonly string[];
}

/** One job or task that a job waits for. */
export interface DependencyReasonView {
  /** "17", or "17.3" for one task. */
  readonly jobId: string;
  readonly name: string;
  readonly state: string;
  /** "to succeed", "to end", … */
  readonly wants: string;
  readonly met: boolean;
  /** The dependency can never be met. */
  readonly impossible: boolean;
}

export interface ExplanationView {
  readonly jobId: string;
  readonly state: JobStateName;
  readonly summary: string;
  readonly reasons: readonly NodeReasonView[];
  /** The answers of pull clusters, and of managed clusters that could run a task now. */
  readonly clusters: readonly ClusterReasonView[];
  readonly hints: readonly string[];
  /** The cheapest single change that would let a task start now; absent: none is known. */
  readonly cheapestChange?: string;
  /** Pending tasks of the same group that go before it. */
  readonly ahead: number;
  readonly nodes: number;
  /** Its dependencies, or those it had when it was skipped; unmet ones first, some of many. */
  readonly dependencies: readonly DependencyReasonView[];
}

export interface ClusterReasonView {
  readonly cluster: string;
  readonly kind: Cluster["kind"];
  readonly verdict: "now" | "later" | "never";
  readonly reasons: readonly string[];
}

/** What would happen to a job if it were submitted now. */
export interface TriedJobView extends Pick<
  ExplanationView,
  "reasons" | "clusters" | "hints" | "cheapestChange"
> {
  readonly name: string;
  readonly tasks: number;
  readonly placements: readonly {
    readonly index: number;
    readonly cluster: string;
    /** Absent: the cluster's own scheduler chooses it. */
    readonly node?: string;
  }[];
  readonly waiting: number;
  /** Beyond the number of tasks that are tried at once. */
  readonly untried: number;
  /** False: no registered node or cluster can run it, and the server would reject it. */
  readonly possible: boolean;
  /** Why it would stay pending, where the reason is not capacity. */
  readonly reason?: string;
}

export interface StatsView {
  readonly version: string;
  readonly store: string;
  readonly revision: number;
  readonly uptimeMs: number;
  readonly jobs: Readonly<Record<JobStateName, number>>;
  readonly tasks: TaskCounts;
  readonly nodes: Readonly<Record<NodeStateName, number>>;
  readonly capacity: Readonly<Record<string, number>>;
  readonly used: Readonly<Record<string, number>>;
  readonly watches: number;
  readonly agentSessions: number;
  readonly memoryBytes: number;
  readonly commits: number;
  readonly commitMsMean: number;
  readonly commitMsMax: number;
  readonly commitMsP99: number;
  readonly placements: number;
  /** Progress reports, by outcome. */
  readonly progressReports: Readonly<Record<string, number>>;
  readonly placementsRefused: number;
  readonly tasksEnded: number;
  readonly heldBegun: number;
  readonly heldReturned: number;
  readonly usage: UsageView;
}

export type WatchEventView = { readonly revision: number } & (
  | { readonly kind: "sync" }
  /** No event for this watch up to here. */
  | { readonly kind: "bookmark" }
  | { readonly kind: "job"; readonly job: JobView }
  | { readonly kind: "task"; readonly task: TaskView }
  | { readonly kind: "node"; readonly node: NodeView }
  | { readonly kind: "cluster"; readonly cluster: ClusterRowView }
  | { readonly kind: "group"; readonly group: Omit<GroupView, "tasks" | "used"> }
  | { readonly kind: "service"; readonly service: ServiceRowView }
  | { readonly kind: "nexus"; readonly note: Note }
  | {
      readonly kind: "removed";
      readonly what: "job" | "node" | "cluster" | "group" | "service" | "nexus";
      readonly id: string;
      /** Absent: the server, by age or number. */
      readonly by?: string;
    }
);
