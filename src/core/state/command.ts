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
import type { TaskFailure, ToldOutput } from "../model/job/task.ts";
import type { ToldProgress } from "../model/job/task-progress.ts";
import type { Usage } from "../model/job/usage.ts";
import type { Change } from "./change.ts";
import type { ChosenSubmission, SubmitToChosen } from "./chosen-submission.ts";
import type { Conditional } from "./decide/if-revision.ts";
import type { Submission, Submitted } from "./submission.ts";
import type { AddedInstance, ServiceCommand } from "./services/service-commands.ts";
import type { JobCommand } from "./job-command.ts";
import type { QuarantineTerms } from "../scheduler/nodes/suspicions.ts";

/** What becomes of one note. */
export interface NotePut {
  readonly id: string;
  /** Absent: none any more. */
  readonly note?: Omit<Note, "id" | "version"> | undefined;
  /** Only if it has this version; 0: only if there is none. */
  readonly ifVersion?: number | undefined;
}

/** One attempt at one task, as agents name it. */
export interface RunRef {
  readonly jobId: JobId;
  readonly index: number;
  readonly attempt: number;
  /** Of one that is to start, and is a share of its job's energy: how many watt-seconds. */
  readonly share?: number;
}

/** A run that an agent holds, or is to give back. */
export interface HeldRun {
  readonly run: RunRef;
  readonly heldAtMs: number;
  readonly isWanted: boolean;
}

/** What an agent says of one of its runs. */
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
      /** How far it came, as it last told; undefined: it told nothing. */
      readonly progress?: ToldProgress | undefined;
      /** The held run that the agent has begun in its place. */
      readonly began?: RunRef | undefined;
    }
  /** A held run that the agent has not begun, and never will. */
  | { readonly kind: "returned"; readonly run: RunRef; readonly heldAtMs: number };

/** How far an attempt is. */
export interface ProgressReport {
  readonly run: RunRef;
  /** Whose agent says so; undefined: a caller, for whom that was checked. */
  readonly nodeId?: NodeId | undefined;
  readonly progress: ToldProgress;
}

/**
 * What became of a report: `taken`, `known` (it says nothing new), `early` (the attempt is not known to
 * have started yet), `late` (it is not, or no longer, an attempt that goes on there).
 */
export type ProgressOutcome = "taken" | "known" | "early" | "late";

/** What a cluster says of a task that was handed over to it. */
export type TaskEvent = {
  readonly task: TaskRef;
  /** Which attempt it speaks of; undefined: the one it has. */
  readonly attempt?: number | undefined;
} & (
  | {
      readonly kind: "started";
      readonly startedAtMs: number;
      readonly progress?: ToldProgress | undefined;
    }
  | (Omit<RunEvent & { readonly kind: "ended" }, "run"> & {
      readonly output?: ToldOutput | undefined;
    })
  /** It will not run it. */
  | { readonly kind: "returned" }
);

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
      /** Rejects unsatisfiable jobs. */
      readonly mustBePossible?: boolean;
    }
  | SubmitToChosen
  /** A scheduler outside Busbar gives a node a share of a job's energy. */
  | {
      readonly kind: "assign-share";
      readonly jobId: JobId;
      readonly nodeId: NodeId;
      /** At most: where less is left of the job, or the node takes less at once, the share is smaller. */
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
      /** Whether nothing more of it is placed; absent: as it was. */
      readonly isPaused?: boolean | undefined;
      readonly by: string;
    })
  | ServiceCommand
  /** What clients of the nexus tree say of objects; all or none. */
  | {
      readonly kind: "put-notes";
      readonly notes: readonly NotePut[];
    }
  /** What doors remember for their clients; without a text: no more. All or none. */
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
  /** How far attempts are, of many agents and callers together. */
  | {
      readonly kind: "report-progress";
      readonly reports: readonly ProgressReport[];
      readonly nowMs: number;
    }
  /** An agent says whether it can start processes. */
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
  /** An agent says what its node has for shares of jobs with energy. */
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
      /** Who says so, also where it is no longer drained. */
      readonly by: string;
    })
  | (Conditional & {
      readonly kind: "set-node-loss";
      readonly nodeId: NodeId;
      /** Absent: as it was; null: as its agent or the server says. */
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
  /** An agent that speaks for a cluster takes what was offered to it. */
  | {
      readonly kind: "take-tasks";
      readonly nodeId: NodeId;
      readonly session: number;
      readonly room: TakeCapacity;
      readonly nowMs: number;
    }
  /** A cluster takes tasks that were offered to it, to run them by itself. */
  | {
      readonly kind: "accept-tasks";
      readonly cluster: ClusterId;
      readonly tasks: readonly TaskRef[];
      readonly nowMs: number;
    }
  /** A cluster tells of tasks that it took to run them by itself. */
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
      /** Whether one that is there already gets the new graph. */
      readonly isUpdate: boolean;
      /** Its subsystems, linked to the new graph beforehand: that takes long for large ones. */
      readonly relinked?: Relinked | undefined;
      readonly by: string;
      /** Of what the new cluster may show, and who may: in one change, or not at all. */
      readonly credentials?: {
        readonly hashes: ClusterHashes;
        /** The caller may never get them: until `claim-cluster` the same caller may register again. */
        readonly isUnclaimed?: boolean;
      };
      readonly nowMs: number;
    })
  /** The caller that registered a cluster has got its credentials. */
  | {
      readonly kind: "claim-cluster";
      readonly id: ClusterId;
      /** Of the secret that it got. */
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
      /** That they were read for. */
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
      /** undefined: as they were. */
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
  /** `lastJobId`: ids up to this were given out, though their jobs may be lost. */
  | { readonly kind: "recover"; readonly nowMs: number; readonly lastJobId: JobId };

export interface NodeHello {
  readonly nodeId: NodeId;
  readonly cluster: string;
  readonly agentKeyHash: string;
  readonly bootId: string;
  readonly agentVersion: string;
  /** Where the agent is, as the server sees it; undefined: not known. */
  readonly address?: string | undefined;
  readonly capacity: Resources;
  readonly labels: Texts;
  /** It speaks for a whole cluster that pulls; undefined: for a node. */
  readonly clusterAgent?: ClusterAgentTerms | undefined;
  /** When it counts as lost, and what becomes of its tasks then; undefined: it does not say. */
  readonly loss?: LossTerms | undefined;
  /** Why it cannot start processes; undefined: it can. */
  readonly sickness?: string | undefined;
  /** It can hold tasks beyond its free capacity and begin them by itself. */
  readonly canHold?: boolean;
  /** It can give tasks a client's standard input or terminal. */
  readonly canAttach?: boolean;
  /** It starts instances of workloads, and nothing else. */
  readonly instancesOnly?: boolean;
  /** What it has for shares of jobs with energy; undefined: it takes none. */
  readonly power?: Power | undefined;
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
  /** Absent: the usual ones. */
  readonly quarantine?: QuarantineTerms;
  /** Rows of tasks that one tick removes, about; absent: as many as one batch should have. */
  readonly removedRowsMax?: number;
}

/** What the caller of each command is told, once the changes are durable. */
export interface Answers {
  "submit-jobs": readonly Submitted[];
  "submit-to-chosen": ChosenSubmission;
  /** The share that was made. */
  "assign-share": { readonly index: number; readonly wattSeconds: number };
  /** In the order of their names. */
  "add-instances": { readonly instances: readonly AddedInstance[] };
  "rerun-job": Submitted;
  /** What the agent must do to be in step: start these (again), hold those (again), stop others. */
  "connect-node": {
    readonly starts: readonly RunRef[];
    readonly holds: readonly HeldRun[];
    readonly stops: readonly RunRef[];
  };
  /** What it got, and what room is left. */
  "take-tasks": { readonly taken: readonly RunRef[]; readonly room: TakeCapacity };
  "accept-tasks": {
    readonly accepted: readonly TaskRef[];
    readonly refused: readonly { readonly task: TaskRef; readonly reason: string }[];
  };
  /** Tasks that were told to have started and that nobody wants there (any more). */
  "report-tasks": { readonly unwanted: readonly TaskRef[] };
  /** Runs the agent still has that are not, or no longer, its own. */
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
