import type { Counter } from "../graph/cluster-state.ts";
import type { Graph } from "../graph/graph.ts";
import type { Subsystem } from "../graph/subsystem.ts";
import type { DeclaredSoftware } from "../model/declared-software.ts";
import type { ClusterId, GroupId, JobId, NodeId } from "../model/ids.ts";
import type { JobSpec, Texts } from "../model/job.ts";
import type { ClusterAgentTerms } from "../model/node.ts";
import type { NodeFacts } from "../model/node-facts.ts";
import type { Resources } from "../model/resources.ts";
import type { Failure } from "../model/task.ts";
import type { Change } from "./change.ts";

/** One attempt at one task, as agents name it. */
export interface RunRef {
  readonly jobId: JobId;
  readonly index: number;
  readonly attempt: number;
}

export interface Submission {
  readonly spec: JobSpec;
  readonly idempotencyKey: string | undefined;
}

export interface Submitted {
  readonly id: JobId;
  /** By its idempotency key: nothing was added. */
  readonly existed: boolean;
}

/** What an agent says of one of its runs. */
export type RunEvent =
  | { readonly kind: "started"; readonly run: RunRef; readonly startedAtMs: number }
  | {
      readonly kind: "ended";
      readonly run: RunRef;
      readonly startedAtMs: number | undefined;
      readonly endedAtMs: number;
      readonly outcome: { readonly kind: "succeeded" } | { readonly kind: "stopped" } | Failure;
    };

/**
 * Everything that can happen. Time and ids from outside arrive inside commands; the core makes
 * neither.
 */
export type Command =
  | {
      readonly kind: "submit-jobs";
      readonly submissions: readonly Submission[];
      readonly by: string;
      readonly nowMs: number;
      /** Refuses jobs that nothing there is could ever run. */
      readonly mustBePossible?: boolean;
    }
  | {
      readonly kind: "cancel-job";
      readonly jobId: JobId;
      /** undefined: the whole job. */
      readonly index: number | undefined;
      readonly reason: string;
      readonly by: string;
      readonly nowMs: number;
    }
  | {
      readonly kind: "put-group";
      readonly id: GroupId;
      readonly weight?: number;
      readonly owner?: string;
      readonly runningTasksMax?: number | undefined;
      readonly queuedTasksMax?: number | undefined;
    }
  | { readonly kind: "remove-group"; readonly id: GroupId }
  | ({ readonly kind: "connect-node" } & NodeHello)
  | {
      readonly kind: "disconnect-node";
      readonly nodeId: NodeId;
      readonly session: number;
      readonly nowMs: number;
    }
  | {
      readonly kind: "report-runs";
      readonly nodeId: NodeId;
      readonly session: number;
      readonly events: readonly RunEvent[];
      readonly nowMs: number;
    }
  | {
      readonly kind: "drain-node";
      readonly nodeId: NodeId;
      /** undefined: no longer. */
      readonly drain: { readonly by: string; readonly reason: string } | undefined;
    }
  | {
      readonly kind: "put-facts";
      readonly nodeId: NodeId;
      readonly session: number;
      readonly facts: NodeFacts;
    }
  | { readonly kind: "remove-node"; readonly nodeId: NodeId; readonly nowMs: number }
  | {
      readonly kind: "register-cluster";
      readonly id: ClusterId;
      readonly graph: Graph;
      /** Whether one that is there already gets the new graph. */
      readonly isUpdate: boolean;
      readonly nowMs: number;
    }
  | { readonly kind: "remove-cluster"; readonly id: ClusterId; readonly nowMs: number }
  | {
      readonly kind: "put-subsystem";
      readonly id: ClusterId;
      readonly subsystem: Subsystem;
      /** That it was read for. */
      readonly graph: Graph;
    }
  | { readonly kind: "declare-software"; readonly row: DeclaredSoftware }
  | { readonly kind: "remove-subsystem"; readonly id: ClusterId; readonly name: string }
  | {
      readonly kind: "set-status";
      readonly id: ClusterId;
      /** Keys and values; null removes a key. Not checked yet. */
      readonly patch: Readonly<Record<string, unknown>>;
      /** undefined: as they were. */
      readonly counters: readonly Counter[] | undefined;
      readonly nowMs: number;
    }
  | { readonly kind: "tick"; readonly nowMs: number; readonly settings: TickSettings }
  | { readonly kind: "recover"; readonly nowMs: number };

export interface NodeHello {
  readonly nodeId: NodeId;
  readonly cluster: string;
  readonly agentKeyHash: string;
  readonly bootId: string;
  readonly agentVersion: string;
  readonly capacity: Resources;
  readonly labels: Texts;
  /** It speaks for a whole cluster that pulls; undefined: for a node. */
  readonly clusterAgent?: ClusterAgentTerms | undefined;
  /** Every run the agent knows: running, or ended and not acknowledged. */
  readonly runs: readonly RunRef[];
  /** What the agent says its machine has; undefined: nothing that could be read. */
  readonly facts?: NodeFacts | undefined;
  readonly session: number;
  readonly nowMs: number;
}

export interface TickSettings {
  readonly nodeLostAfterMs: number;
  readonly finishedTasksMax: number;
  readonly finishedAgeMsMax: number;
}

/** What the caller of each command is told, once the changes are durable. */
export interface Answers {
  "submit-jobs": readonly Submitted[];
  /** What the agent must do to be in step: start these (again), stop those. */
  "connect-node": { readonly starts: readonly RunRef[]; readonly stops: readonly RunRef[] };
  /** Runs the agent still has that are not, or no longer, its own. */
  "report-runs": { readonly stops: readonly RunRef[] };
}

export type AnswerTo<K extends Command["kind"]> = K extends keyof Answers ? Answers[K] : undefined;
export type CommandOf<K extends Command["kind"]> = Extract<Command, { kind: K }>;

/** Pure outcome of a command: rows to write, and the answer. */
export interface Decision<Answer = unknown> {
  readonly changes: readonly Change[];
  readonly answer: Answer;
}
