import type { DoorRecordPut } from "../model/door-record.ts";
import type { StateCounter } from "../graph/cluster-state.ts";
import type { Graph } from "../graph/graph.ts";
import type { Relinked } from "../graph/subsystems/link-subsystem.ts";
import type { Subsystem } from "../graph/subsystems/subsystem.ts";
import type { ClusterHashes, CredentialRef, HashedCredential } from "../model/credential.ts";
import type { DeclaredSoftware } from "../model/declared-software.ts";
import type { ClusterId, GroupId, JobId, NodeId, TaskRef } from "../model/ids.ts";
import type { Texts } from "../model/job/job.ts";
import type { Note } from "../model/note.ts";
import type { ClusterAgentTerms, LossPolicy, LossTerms } from "../model/node/node.ts";
import type { Power } from "../model/node/power.ts";
import type { NodeFacts } from "../model/node/node-facts.ts";
import type { TakeCapacity } from "../model/node/take-capacity.ts";
import type { Resources } from "../model/resources.ts";
import type { TaskFailure, ReportedOutput } from "../model/job/task.ts";
import type { ReportedProgress } from "../model/job/task-progress.ts";
import type { Usage } from "../model/job/usage.ts";
import type { Change } from "./change.ts";
import type { ChosenSubmission, SubmitToChosen } from "./chosen-submission.ts";
import type { Conditional } from "./decide/if-revision.ts";
import type { Submission, Submitted } from "./submission.ts";
import type { AddedInstance, ServiceCommand } from "./services/service-commands.ts";
import type { JobCommand } from "./job-command.ts";
import type { QuarantineTerms } from "../scheduler/nodes/suspicions.ts";

/** A change of one note. */
export interface NotePut {
  readonly id: string;
  /** Absent: remove it. */
  readonly note?: Omit<Note, "id" | "version"> | undefined;
  /** Only if it has this version; 0: only if there is none. */
  readonly ifVersion?: number | undefined;
}

/** One attempt at one task, as agents name it. */
export interface RunRef {
  readonly jobId: JobId;
  readonly index: number;
  readonly attempt: number;
  /** The watt-seconds of a run to start that is a share of its job's energy. */
  readonly share?: number;
}

/** A run that an agent holds, or is to return. */
export interface HeldRun {
  readonly run: RunRef;
  readonly heldAtMs: number;
  readonly isWanted: boolean;
}

/** An agent's report about one of its runs. */
export type RunEvent =
  | { readonly kind: "started"; readonly run: RunRef; readonly startedAtMs: number }
  | {
      readonly kind: "ended";
      readonly run: RunRef;
      readonly startedAtMs: number | undefined;
      readonly endedAtMs: number;
      readonly outcome: { readonly kind: "succeeded" } | { readonly kind: "stopped" } | TaskFailure;
      /** Where the executor measured it. */
      readonly usage?: Usage | undefined;
      /** The last progress that it reported; undefined: none. */
      readonly progress?: ReportedProgress | undefined;
      /** The held run that the agent has begun in its place. */
      readonly began?: RunRef | undefined;
    }
  /** A held run that the agent has not begun, and never will. */
  | { readonly kind: "returned"; readonly run: RunRef; readonly heldAtMs: number };

/** The progress of an attempt. */
export interface ProgressReport {
  readonly run: RunRef;
  /** The node whose agent reports; undefined: a caller, whose permission was checked. */
  readonly nodeId?: NodeId | undefined;
  readonly progress: ReportedProgress;
}

/**
 * The outcome of a report: `taken`, `known` (it has nothing new), `early` (the server does not know yet
 * that the attempt has started), `late` (the attempt does not run there, or no longer does).
 */
export type ProgressOutcome = "taken" | "known" | "early" | "late";

/** A cluster's report about a task that it accepted. */
export type TaskEvent = {
  readonly task: TaskRef;
  /** The reported attempt; undefined: the one that the cluster has. */
  readonly attempt?: number | undefined;
} & (
  | {
      readonly kind: "started";
      readonly startedAtMs: number;
      readonly progress?: ReportedProgress | undefined;
    }
  | (Omit<RunEvent & { readonly kind: "ended" }, "run"> & {
      readonly output?: ReportedOutput | undefined;
    })
  /** The cluster will not run the task. */
  | { readonly kind: "returned" }
);

/**
 * Everything that can happen. Time and external ids arrive inside commands; the core makes
 * neither of them.
 */
export type Command =
  | {
      readonly kind: "submit-jobs";
      readonly submissions: readonly Submission[];
      readonly by: string;
      readonly nowMs: number;
      /** Rejects unsatisfiable jobs. */
      readonly mustBePossible?: boolean;
    }
  | SubmitToChosen
  /** An external scheduler assigns a share of a job's energy to a node. */
  | {
      readonly kind: "assign-share";
      readonly jobId: JobId;
      readonly nodeId: NodeId;
      /** An upper bound: the share is smaller when less of the job is left, or when the node accepts less at once. */
      readonly wattSeconds: number;
      readonly nowMs: number;
    }
  | JobCommand
  | (Conditional & {
      readonly kind: "put-group";
      readonly id: GroupId;
      readonly weight?: number;
      readonly owner?: string;
      readonly runningTasksMax?: number | undefined;
      readonly queuedTasksMax?: number | undefined;
      /** Whether placement of its tasks is paused; absent: unchanged. */
      readonly isPaused?: boolean | undefined;
      readonly by: string;
    })
  | ServiceCommand
  /** Notes that clients of the nexus tree set on objects; all or none. */
  | {
      readonly kind: "put-notes";
      readonly notes: readonly NotePut[];
    }
  /** Records that doors store for their clients; without a text: remove it. All or none. */
  | { readonly kind: "put-door-records"; readonly records: readonly DoorRecordPut[] }
  | (Conditional & { readonly kind: "remove-group"; readonly id: GroupId; readonly by: string })
  | ({ readonly kind: "connect-node" } & NodeHello)
  | {
      readonly kind: "disconnect-node";
      readonly nodeId: NodeId;
      readonly session: number;
      /** The last sign of life of its agent; absent: now. */
      readonly heardAtMs?: number;
      readonly nowMs: number;
    }
  | {
      readonly kind: "report-runs";
      readonly nodeId: NodeId;
      readonly session: number;
      readonly events: readonly RunEvent[];
      readonly nowMs: number;
    }
  /** Progress of attempts, reported by many agents and callers. */
  | {
      readonly kind: "report-progress";
      readonly reports: readonly ProgressReport[];
      readonly nowMs: number;
    }
  /** An agent reports whether it can start processes. */
  | {
      readonly kind: "report-health";
      readonly nodeId: NodeId;
      readonly session: number;
      /** Why it cannot; undefined: it can. */
      readonly sickness: string | undefined;
      readonly nowMs: number;
    }
  | {
      readonly kind: "report-clock";
      readonly nodeId: NodeId;
      readonly session: number;
      /** How far the agent's clock is ahead of the server's; 0: it agrees. */
      readonly aheadMs: number;
    }
  /** An agent reports the power of its node for shares of jobs with energy. */
  | {
      readonly kind: "report-power";
      readonly nodeId: NodeId;
      readonly session: number;
      readonly power: Power;
      readonly nowMs: number;
    }
  | (Conditional & {
      readonly kind: "drain-node";
      readonly nodeId: NodeId;
      /** undefined: no longer. */
      readonly drain: { readonly reason: string } | undefined;
      /** The principal that drains or undrains it. */
      readonly by: string;
    })
  | (Conditional & {
      readonly kind: "set-node-loss";
      readonly nodeId: NodeId;
      /** Absent: unchanged; null: the setting of its agent or the server. */
      readonly loss: {
        readonly onLost?: LossPolicy | null | undefined;
        readonly lostAfterMs?: number | null | undefined;
      };
      readonly by: string;
      readonly nowMs: number;
    })
  | {
      readonly kind: "put-facts";
      readonly nodeId: NodeId;
      readonly session: number;
      readonly facts: NodeFacts;
    }
  /** The agent of a cluster accepts tasks offered to the cluster. */
  | {
      readonly kind: "take-tasks";
      readonly nodeId: NodeId;
      readonly session: number;
      readonly room: TakeCapacity;
      readonly nowMs: number;
    }
  /** A cluster accepts offered tasks, to run them by itself. */
  | {
      readonly kind: "accept-tasks";
      readonly cluster: ClusterId;
      readonly tasks: readonly TaskRef[];
      readonly nowMs: number;
    }
  /** A cluster reports tasks that it accepted to run by itself. */
  | {
      readonly kind: "report-tasks";
      readonly cluster: ClusterId;
      readonly events: readonly TaskEvent[];
      readonly nowMs: number;
    }
  | (Conditional & {
      readonly kind: "remove-node";
      readonly nodeId: NodeId;
      readonly by: string;
      readonly nowMs: number;
    })
  | (Conditional & {
      readonly kind: "register-cluster";
      readonly id: ClusterId;
      readonly graph: Graph;
      /** Whether to replace the graph of an existing cluster. */
      readonly isUpdate: boolean;
      /** Its subsystems, linked to the new graph beforehand: that takes long for large ones. */
      readonly relinked?: Relinked | undefined;
      readonly by: string;
      /** Credentials of the new cluster: stored in the same change, or not at all. */
      readonly credentials?: {
        readonly hashes: ClusterHashes;
        /** The caller may never receive them: until `claim-cluster` the same caller may register again. */
        readonly isUnclaimed?: boolean;
      };
      readonly nowMs: number;
    })
  /** The caller that registered a cluster has received its credentials. */
  | {
      readonly kind: "claim-cluster";
      readonly id: ClusterId;
      /** The hash of the secret that it received. */
      readonly hash: string;
    }
  | (Conditional & {
      readonly kind: "remove-cluster";
      readonly id: ClusterId;
      readonly by: string;
      readonly nowMs: number;
    })
  | (Conditional & {
      /** All or none. */
      readonly kind: "put-subsystems";
      readonly id: ClusterId;
      readonly subsystems: readonly Subsystem[];
      /** The graph for which they were read. */
      readonly graph: Graph;
      readonly by: string;
    })
  | (Conditional & {
      readonly kind: "declare-software";
      readonly row: DeclaredSoftware;
      readonly by: string;
    })
  | (Conditional & {
      readonly kind: "remove-subsystem";
      readonly id: ClusterId;
      readonly name: string;
      readonly by: string;
    })
  | (Conditional & {
      readonly kind: "set-status";
      readonly id: ClusterId;
      /** Keys and values; null removes a key. Not checked yet. */
      readonly patch: Readonly<Record<string, unknown>>;
      /** undefined: unchanged. */
      readonly counters: readonly StateCounter[] | undefined;
      readonly by: string;
      readonly nowMs: number;
    })
  | {
      readonly kind: "set-credentials";
      readonly put: readonly HashedCredential[];
      readonly remove: readonly CredentialRef[];
      readonly by: string;
      readonly nowMs: number;
    }
  | { readonly kind: "tick"; readonly nowMs: number; readonly settings: TickSettings }
  /** `lastJobId`: ids up to this were issued, although their jobs may be lost. */
  | { readonly kind: "recover"; readonly nowMs: number; readonly lastJobId: JobId };

export interface NodeHello {
  readonly nodeId: NodeId;
  readonly cluster: string;
  readonly agentKeyHash: string;
  readonly bootId: string;
  readonly agentVersion: string;
  /** The address of the agent, as the server sees it; undefined: not known. */
  readonly address?: string | undefined;
  readonly capacity: Resources;
  readonly labels: Texts;
  /** It is the agent of a whole pull cluster; undefined: of a node. */
  readonly clusterAgent?: ClusterAgentTerms | undefined;
  /** When it counts as lost, and what happens to its tasks then; undefined: the agent does not set it. */
  readonly loss?: LossTerms | undefined;
  /** Why it cannot start processes; undefined: it can. */
  readonly sickness?: string | undefined;
  /** It can hold tasks beyond its free capacity and begin them by itself. */
  readonly canHold?: boolean;
  /** It can connect tasks to a client's standard input or terminal. */
  readonly canAttach?: boolean;
  /** It starts instances of workloads, and nothing else. */
  readonly instancesOnly?: boolean;
  /** Its power for shares of jobs with energy; undefined: it accepts none. */
  readonly power?: Power | undefined;
  /** Every run the agent knows: running, or ended and not acknowledged. */
  readonly runs: readonly RunRef[];
  /** Facts that the agent reports about its machine; undefined: none that could be read. */
  readonly facts?: NodeFacts | undefined;
  readonly session: number;
  readonly nowMs: number;
}

export interface TickSettings {
  readonly nodeLostAfterMs: number;
  readonly finishedTasksMax: number;
  readonly finishedAgeMsMax: number;
  /** Absent: the defaults. */
  readonly quarantine?: QuarantineTerms;
  /** About how many task rows one tick removes; absent: the size of one batch. */
  readonly removedRowsMax?: number;
}

/** The answer to each command, sent when its changes are durable. */
export interface Answers {
  "submit-jobs": readonly Submitted[];
  "submit-to-chosen": ChosenSubmission;
  /** The share that was made. */
  "assign-share": { readonly index: number; readonly wattSeconds: number };
  /** In the order of their names. */
  "add-instances": { readonly instances: readonly AddedInstance[] };
  "rerun-job": Submitted;
  /** Brings the agent in line with the state: start these (again), hold those (again), stop others. */
  "connect-node": {
    readonly starts: readonly RunRef[];
    readonly holds: readonly HeldRun[];
    readonly stops: readonly RunRef[];
  };
  /** The accepted tasks, and the remaining capacity. */
  "take-tasks": { readonly taken: readonly RunRef[]; readonly room: TakeCapacity };
  "accept-tasks": {
    readonly accepted: readonly TaskRef[];
    readonly refused: readonly { readonly task: TaskRef; readonly reason: string }[];
  };
  /** Tasks that the cluster reported as started and that are not wanted there (any more). */
  "report-tasks": { readonly unwanted: readonly TaskRef[] };
  /** Runs that the agent still has and that are not, or no longer, assigned to it. */
  "report-runs": { readonly stops: readonly RunRef[] };
  /** One for each report, in their order. */
  "report-progress": { readonly outcomes: readonly ProgressOutcome[] };
}

export type AnswerTo<K extends Command["kind"]> = K extends keyof Answers ? Answers[K] : undefined;
export type CommandOf<K extends Command["kind"]> = Extract<Command, { kind: K }>;

/** Pure outcome of a command: rows to write, and the answer. */
export interface Decision<Answer = unknown> {
  readonly changes: readonly Change[];
  readonly answer: Answer;
}
