import type { NodeFacts } from "../core/model/node/node-facts.ts";
import type { StateName } from "../client/state.ts";

/**
 * What commands return and `--output json` prints. A promise to scripts: fields may be added, none
 * is renamed or removed. Times are milliseconds since 1970, durations milliseconds, sizes bytes;
 * an optional field is left out when there is nothing to say.
 */
export type StateWord = StateName | "unknown";
export type TaskCountsRow = Readonly<Record<StateName, number>>;
export type Amounts = Readonly<Record<string, number>>;
export type Labels = Readonly<Record<string, string>>;

export interface JobRow {
  readonly id: string;
  readonly spec: SpecRow;
  readonly state: StateWord;
  readonly tasks: TaskCountsRow;
  readonly taskTotal: number;
  readonly submittedAtMs: number;
  readonly startedAtMs?: number;
  readonly endedAtMs?: number;
  readonly submittedBy?: string;
  readonly idempotencyKey?: string;
  readonly reason?: string;
  readonly exitCode?: number;
  /** Of all attempts at all of its tasks that have ended. */
  readonly usage?: UsageRow;
  readonly revision: number;
}

/** What attempts used, as far as agents measured it. */
export interface UsageRow {
  /** User and system time. */
  readonly cpuMs?: number;
  readonly wallMs?: number;
  /** Of the largest process; left out where many jobs are summed up. */
  readonly maxRssBytes?: number;
  /** Page faults that had to read from a disk. */
  readonly majorFaults?: number;
}

export interface SpecRow {
  readonly name: string;
  readonly group: string;
  readonly labels?: Labels;
  readonly command?: readonly string[];
  readonly script?: string;
  readonly jobspec?: string;
  readonly env?: Labels;
  readonly cwd?: string;
  readonly resources?: Amounts;
  /** What each task asks of a graph: alternatives, each a list of trees. */
  readonly request?: unknown;
  readonly select?: SelectRow;
  readonly placement?: PlacementRow;
  readonly array?: string;
  readonly priority: number;
  readonly retries?: RetriesRow;
  readonly timeLimitMs?: number;
  readonly killGraceMs?: number;
  readonly queueDeadlineMs?: number;
  readonly outputLimitBytes?: number;
  readonly dependsOn?: readonly DependencyRow[];
}

export interface DependencyRow {
  readonly kind: string;
  readonly on?: readonly string[];
  readonly atLeast?: number;
  readonly name?: string;
}

export interface SelectRow {
  /** Left out: the server's. */
  readonly strategy?: string;
  readonly options?: unknown;
  readonly parameters?: Readonly<Record<string, number | string | boolean>>;
}

export interface PlacementRow {
  readonly kind?: string;
  readonly cluster?: string;
  readonly node?: string;
  readonly labels?: Labels;
}

export interface RetriesRow {
  readonly max: number;
  readonly backoffMs?: number;
  readonly backoffMaxMs?: number;
}

export interface TaskRow {
  readonly id: string;
  readonly jobId: string;
  readonly index: number;
  readonly state: StateWord;
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
  readonly past?: readonly PastRow[];
  /** Of the latest attempt, once it has ended. */
  readonly usage?: UsageRow;
}

export interface PastRow {
  readonly attempt: number;
  readonly node?: string;
  /** That it was handed over to. */
  readonly cluster?: string;
  readonly startedAtMs?: number;
  readonly endedAtMs?: number;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly reason?: string;
  readonly usage?: UsageRow;
}

export interface SubmittedRow {
  readonly id: string;
  /** Of the jobs of a jobspec. */
  readonly name?: string;
  readonly existed?: boolean;
  readonly warning?: string;
}

export interface CountRow {
  readonly jobs: Amounts;
  readonly tasks: TaskCountsRow;
  readonly revision: number;
}

/** Why tasks wait or would wait, and what would help. */
export interface PlacesRow {
  readonly reasons: readonly {
    readonly reason: string;
    readonly nodes: number;
    readonly never: boolean;
    readonly examples: readonly string[];
  }[];
  /** Those that pull, and those with agents that could take a task now. */
  readonly clusters: readonly {
    readonly cluster: string;
    readonly kind: string;
    /** now, later, never */
    readonly verdict: string;
    readonly reasons: readonly string[];
  }[];
  readonly hints: readonly string[];
  /** The one change that would let a task start now, if one is known. */
  readonly cheapestChange?: string;
}

export interface ExplanationRow extends PlacesRow {
  readonly jobId: string;
  readonly state: StateWord;
  readonly summary: string;
  readonly ahead: number;
  readonly nodes: number;
  readonly dependencies: readonly {
    readonly jobId: string;
    readonly name: string;
    readonly state: string;
    readonly wants: string;
    readonly met: boolean;
    readonly impossible: boolean;
  }[];
}

/** What would become of a job if it were submitted now. */
export interface TrialRow extends PlacesRow {
  readonly name: string;
  readonly tasks: number;
  readonly placements: readonly {
    readonly index: number;
    readonly cluster: string;
    /** Left out: the cluster's own scheduler chooses it. */
    readonly node?: string;
  }[];
  readonly waiting: number;
  /** Beyond the number of tasks that are tried at once. */
  readonly untried: number;
  /** Whether anything there is could ever run it. */
  readonly possible: boolean;
  /** Why it would wait, where it is not for room. */
  readonly reason?: string;
}

export interface NodeRow {
  readonly name: string;
  readonly cluster: string;
  readonly state: string;
  readonly capacity: Amounts;
  readonly used: Amounts;
  readonly labels?: Labels;
  readonly tasks: number;
  /** Tasks fetched ahead, how many it may hold, and how long its last tasks took. */
  readonly held?: number;
  readonly heldMax?: number;
  readonly taskMsMean?: number;
  readonly connectedAtMs?: number;
  readonly disconnectedAtMs?: number;
  readonly drainReason?: string;
  /** Why its agent cannot start processes, and since when. */
  readonly sickness?: string;
  readonly sickAtMs?: number;
  /** Why it gets one task at a time, or none, since when, and when the next. */
  readonly quarantine?: string;
  readonly quarantinedAtMs?: number;
  readonly probeAtMs?: number;
  /** What becomes of its tasks when it is lost: keep, fail; absent: requeue. */
  readonly onLost?: string;
  readonly lostAfterMs?: number;
  /** How far its clock is ahead of the server's; below zero: behind. */
  readonly clockOffsetMs?: number;
  readonly agentVersion?: string;
  /** Where its agent is, or was last. */
  readonly address?: string;
  /** It speaks for all of its cluster, and takes tasks that are offered to it. */
  readonly isClusterAgent?: true;
  /** Where one node is shown. */
  readonly facts?: NodeFacts;
  readonly revision: number;
}

export interface ClusterRow {
  readonly name: string;
  /** managed: its nodes have agents; pulling: it was registered with a graph. */
  readonly kind: string;
  readonly createdAtMs: number;
  readonly nodes: number;
  readonly nodesConnected: number;
  readonly capacity: Amounts;
  readonly used: Amounts;
  readonly tasks: number;
  /** Of a registered cluster: how many pieces of each type its graph has. */
  readonly vertices?: Amounts;
  readonly subsystems?: readonly SubsystemRow[];
  readonly state?: readonly StateRow[];
  readonly counters?: readonly { readonly key: string; readonly by: string }[];
  /** Which it has, by when they were made; left out where it has none. */
  readonly credentials?: { readonly secretSinceMs?: number; readonly tokenSinceMs?: number };
  /** Only where they were just made. */
  readonly issued?: IssuedRow;
  /** Where one that pulls is shown: who speaks for it. */
  readonly agents?: readonly AgentRow[];
}

/** A task that waits for a cluster to take it. */
export interface OfferedRow {
  readonly id: string;
  readonly attempt: number;
  readonly spec: SpecRow;
  readonly offeredAtMs: number;
}

export interface IssuedRow {
  readonly secret?: string;
  readonly token?: string;
}

export interface AgentRow {
  readonly name: string;
  readonly state: string;
  readonly tasks: number;
  readonly sinceMs?: number;
}

export interface SubsystemRow {
  readonly name: string;
  readonly vertices: number;
  readonly links: number;
}

export interface StateRow {
  readonly key: string;
  readonly value: number | string | boolean;
  readonly setAtMs: number;
}

export interface SatisfyRow {
  /** Whether a cluster could ever run all of it. */
  readonly satisfied: boolean;
  readonly ever: readonly string[];
  readonly now: readonly string[];
  readonly tasks: readonly {
    readonly name: string;
    readonly clusters: readonly ClusterAnswerRow[];
  }[];
  readonly selection?: SelectionRow;
}

export interface ClusterAnswerRow {
  readonly cluster: string;
  readonly kind: string;
  readonly ever: boolean;
  readonly now: boolean;
  readonly slots: number;
  readonly alternative: number;
  readonly reasons: readonly string[];
}

export interface SelectionRow {
  readonly strategy: string;
  readonly chosen?: string;
  readonly ranked: readonly string[];
  readonly dropped: readonly { readonly name: string; readonly reason: string }[];
}

export interface GroupRow {
  readonly name: string;
  readonly weight: number;
  readonly owner?: string;
  readonly runningTasksMax?: number;
  readonly queuedTasksMax?: number;
  readonly tasks: TaskCountsRow;
  readonly used: Amounts;
  /** Of all attempts at tasks of its jobs, as long as the server retains them. */
  readonly usage?: UsageRow;
}

export interface StatsRow {
  readonly version: string;
  readonly store: string;
  readonly revision: number;
  readonly uptimeMs: number;
  readonly jobs: Amounts;
  readonly tasks: TaskCountsRow;
  readonly nodes: Amounts;
  readonly capacity: Amounts;
  readonly used: Amounts;
  readonly watches: number;
  readonly agentSessions: number;
  readonly memoryBytes: number;
  readonly commits: number;
  readonly commitMsMean: number;
  readonly commitMsMax: number;
  readonly placements: number;
  readonly tasksEnded: number;
  readonly heldBegun: number;
  readonly heldReturned: number;
  /** Of attempts that have ended since the start. */
  readonly usage: UsageRow;
}

export type EventRow =
  | { readonly revision: number; readonly kind: "sync" }
  | { readonly revision: number; readonly kind: "job"; readonly job: JobRow }
  | { readonly revision: number; readonly kind: "task"; readonly task: TaskRow }
  | { readonly revision: number; readonly kind: "node"; readonly node: NodeRow }
  | { readonly revision: number; readonly kind: "group"; readonly group: GroupRow }
  | {
      readonly revision: number;
      readonly kind: "removed";
      readonly removed: { readonly kind: string; readonly id: string };
    };
