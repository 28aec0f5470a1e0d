import type { NodeStateName } from "../core/model/node.ts";
import type { NodeFacts } from "../core/model/node-facts.ts";
import type { JobStateName, TaskCounts, TaskStateName } from "../core/state/progress.ts";
import type { Texts } from "../core/model/job.ts";

/**
 * What callers see, whatever door they come through. Plain data in camelCase, in the units people
 * write (cpu in cpus, memory in bytes); a field that does not apply is absent. The REST API sends
 * these as they are.
 */
export interface JobSpecView {
  readonly name: string;
  readonly group: string;
  readonly labels?: Texts;
  readonly command?: readonly string[];
  readonly script?: string;
  readonly env?: Texts;
  readonly cwd?: string;
  readonly resources: Readonly<Record<string, number>>;
  readonly placement?: {
    readonly cluster?: string;
    readonly node?: string;
    readonly labels?: Texts;
  };
  readonly array?: string;
  readonly priority: number;
  readonly retries?: {
    readonly max: number;
    readonly backoffMs: number;
    readonly backoffMaxMs: number;
  };
  readonly timeLimitMs?: number;
  readonly killGraceMs: number;
  readonly queueDeadlineMs?: number;
  readonly outputLimitBytes: number;
}

export interface JobView {
  readonly id: string;
  readonly spec: JobSpecView;
  readonly state: JobStateName;
  readonly tasks: TaskCounts;
  readonly taskTotal: number;
  readonly submittedAtMs: number;
  readonly submittedBy: string;
  readonly startedAtMs?: number;
  readonly endedAtMs?: number;
  readonly idempotencyKey?: string;
  /** Why it was cancelled, expired or failed, or why it is pending, when that is known. */
  readonly reason?: string;
  /** Once ended: 0 when all succeeded, that of the task when there is one, else 1. */
  readonly exitCode?: number;
  readonly revision: number;
}

export interface PastAttemptView {
  readonly attempt: number;
  readonly node: string;
  readonly startedAtMs?: number;
  readonly endedAtMs: number;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly reason: string;
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
  readonly past?: readonly PastAttemptView[];
}

export interface NodeView {
  readonly name: string;
  readonly cluster: string;
  readonly state: NodeStateName;
  readonly capacity: Readonly<Record<string, number>>;
  readonly used: Readonly<Record<string, number>>;
  readonly labels: Texts;
  readonly tasks: number;
  readonly connectedAtMs?: number;
  readonly disconnectedAtMs?: number;
  readonly drainReason?: string;
  readonly agentVersion: string;
  /** What its machine has; only where one node is asked for. */
  readonly facts?: NodeFacts;
  readonly revision: number;
}

export interface ClusterView {
  readonly name: string;
  readonly nodes: number;
  readonly nodesConnected: number;
  readonly capacity: Readonly<Record<string, number>>;
  readonly used: Readonly<Record<string, number>>;
  readonly tasks: number;
}

export interface GroupView {
  readonly name: string;
  readonly weight: number;
  readonly owner: string;
  readonly runningTasksMax?: number;
  readonly queuedTasksMax?: number;
  readonly tasks: TaskCounts;
  readonly used: Readonly<Record<string, number>>;
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

export interface ExplanationView {
  readonly jobId: string;
  readonly state: JobStateName;
  readonly summary: string;
  readonly reasons: readonly NodeReasonView[];
  readonly hints: readonly string[];
  /** Pending tasks of the same group that go before it. */
  readonly ahead: number;
  readonly nodes: number;
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
  readonly placements: number;
  readonly tasksEnded: number;
}

export type WatchEventView = { readonly revision: number } & (
  | { readonly kind: "sync" }
  | { readonly kind: "job"; readonly job: JobView }
  | { readonly kind: "task"; readonly task: TaskView }
  | { readonly kind: "node"; readonly node: NodeView }
  | { readonly kind: "group"; readonly group: Omit<GroupView, "tasks" | "used"> }
  | { readonly kind: "removed"; readonly what: "job" | "node" | "group"; readonly id: string }
);
