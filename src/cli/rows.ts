import type * as wire from "../client/messages.ts";
import type { NodeFacts } from "../core/model/node/node-facts.ts";
import type { JsonOf } from "../wire/json-shape.ts";

/**
 * The rows that commands return and `--output json` prints: the JSON of the wire's messages, described in docs/reference/api.md. A promise
 * to scripts: fields may be added, none is renamed or removed.
 */

/** Fields that every server sends, though the wire would allow a message without them. */
type Sure<T, Names extends keyof T> = Omit<T, Names> & {
  readonly [Name in Names]-?: Exclude<T[Name], undefined>;
};

export type Amounts = Readonly<Record<string, number>>;
export type UsageRow = JsonOf<wire.Usage>;
/** The server fills these in. */
export type SpecRow = Sure<JsonOf<wire.JobSpec>, "name" | "group" | "priority">;
export type DependencyRow = JsonOf<wire.Dependency>;
export type SelectRow = JsonOf<wire.Selection>;
export type TaskCountsRow = JsonOf<wire.TaskCounts>;
export type JobRow = Sure<Omit<JsonOf<wire.Job>, "spec">, "tasks"> & { readonly spec: SpecRow };
export type TaskRow = JsonOf<wire.Task>;
export type ProgressRow = JsonOf<wire.Progress>;
export type PastRow = JsonOf<wire.PastAttempt>;
export type SubmittedRow = JsonOf<wire.SubmittedJob>;
export type CountRow = Sure<JsonOf<wire.CountJobsResponse>, "tasks">;
export type ExplanationRow = JsonOf<wire.Explanation>;
export type TrialRow = JsonOf<wire.TriedJob>;
/** Why tasks are pending or would be, and what would help. */
export type PlacesRow = Pick<TrialRow, "reasons" | "clusters" | "hints" | "cheapestChange">;
export type NodeRow = Omit<JsonOf<wire.Node>, "facts"> & { readonly facts?: NodeFacts };
export type GroupRow = Sure<JsonOf<wire.Group>, "tasks">;
export type ServiceRow = JsonOf<wire.Service>;
export type InstanceRow = JsonOf<wire.Instance>;
export type StatsRow = Sure<JsonOf<wire.Stats>, "tasks">;
export type OfferedRow = Omit<JsonOf<wire.OfferedTask>, "spec"> & { readonly spec: SpecRow };
export type IssuedRow = JsonOf<wire.IssuedCredentials>;
export type SubsystemRow = JsonOf<wire.Cluster["subsystems"][number]>;
export type StateRow = JsonOf<wire.StateEntry>;
export type ClusterRow = JsonOf<wire.Cluster> & {
  /** For a pull cluster that is shown alone: its agents. */
  readonly agents?: readonly AgentRow[];
};
export type SelectionRow = JsonOf<NonNullable<wire.SatisfyResponse["selection"]>>;
export type ClusterAnswerRow = JsonOf<wire.ClusterAnswer>;
export type SatisfyRow = JsonOf<wire.SatisfyResponse> & {
  /** Whether a cluster can run all of it, now or later. */
  readonly satisfied: boolean;
};
/** One of these exists beside the revision. */
export type EventRow = Pick<JsonOf<wire.WatchEvent>, "revision" | "sync" | "removed"> & {
  readonly job?: JobRow;
  readonly task?: TaskRow;
  readonly node?: NodeRow;
  readonly cluster?: ClusterRow;
  readonly group?: GroupRow;
  readonly service?: ServiceRow;
};

export interface AgentRow {
  readonly name: string;
  readonly state: string;
  readonly tasks: number;
  readonly sinceMs?: number;
}
