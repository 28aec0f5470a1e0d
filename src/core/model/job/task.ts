import { formatBytes } from "../../../lib/units.ts";
import type { ClusterId, JobId, NodeId } from "../ids.ts";
import type { Resources } from "../resources.ts";
import { partOf } from "./energy.ts";
import { hundredths, type TaskProgress } from "./task-progress.ts";
import type { Usage } from "./usage.ts";
import { addUsage } from "./usage.ts";

/** How an attempt ended without success. */
export type TaskFailure =
  /** `message`: it failed without an exit code, for example on a machine of another scheduler. */
  | { readonly kind: "exited"; readonly exitCode: number; readonly message?: string }
  /** `message`: the sender of the signal, where it is known. */
  | { readonly kind: "signalled"; readonly signal: string; readonly message?: string }
  | { readonly kind: "time-limit" }
  /** The kernel killed it at the memory limit that its node enforces; without `limitBytes`: not known. */
  | { readonly kind: "out-of-memory"; readonly limitBytes?: number }
  | { readonly kind: "could-not-start"; readonly message: string }
  /** The node could not start it, for reasons of its own: no fault of the task. */
  | { readonly kind: "node-fault"; readonly message: string }
  | { readonly kind: "vanished"; readonly message: string }
  /** `isLast`: a share whose rest must not be split again, by its node's loss policy. */
  | { readonly kind: "lost"; readonly message: string; readonly isLast?: true }
  /** A user requeued it. Only for attempts before the latest. */
  | { readonly kind: "requeued"; readonly message: string };

/**
 * The row of one task of a job that is not just "pending, never placed". A task without a row is
 * pending, or has ended with the closing of its job.
 *
 *   (no row) --place--> assigned --start--> running --end--> succeeded | failed
 *                ^         |  |                |  |
 *                |         |  +----- cancel ---+--|--> stopping --end--> cancelled | succeeded
 *                |         +- lose, fail, return -+
 *                +---- waiting <------------------+ (while attempts are left; requeue: by way of stopping)
 *
 *   (no row), waiting --offer--> offered --withdraw--> waiting
 *                                 |  |  +--cancel--> cancelled
 *                                 |  +--take--> assigned (to an agent of the cluster)
 *                                 +--accept--> accepted --report, silence--> succeeded | failed
 *                                                  +--return, fail--> waiting; cancel--> cancelled
 *
 *   (no row), waiting --fetch ahead--> held --begin--> assigned; return--> waiting; cancel--> cancelled
 *
 * Each placement is a new attempt. Reports name their attempt; a report of an earlier one changes
 * nothing. Ended states are final. An attempt that an agent returns without beginning it was never
 * made: the next placement has its number.
 *
 * Invariant: the used resources of a node are the sum over its assigned, running and stopping tasks.
 */
export interface Task {
  readonly jobId: JobId;
  readonly index: number;
  /** Of the latest placement, from 1; 0 when it ended before it was ever placed. */
  readonly attempt: number;
  readonly state: TaskState;
  /** Attempts that failed by their own fault, and count against `retries.max`. */
  readonly failures: number;
  /** Attempts that were lost with their node. */
  readonly losses: number;
  /** Attempts that their nodes could not start and returned; absent: none. */
  readonly returns?: number;
  /** For a service task that was restarted, or took nodes down; absent: neither. */
  readonly restarts?: Restarts;
  /** The latest attempts before this one, oldest first, bounded. */
  readonly past: readonly PastAttempt[];
  /** The resources it takes of its node, where they depend on the node and differ from the job's `needs`. */
  readonly takes?: Resources;
  /** For a job with energy: the watt-seconds of this task. */
  readonly share?: number;
  /** The end of its output, bounded, as the cluster that ran it reported. */
  readonly told?: ReportedOutput;
  /** The last reported progress of the latest attempt; absent: none. */
  readonly progress?: TaskProgress;
  /** Of the latest attempt, once it has ended and where its executor measured it. */
  readonly usage?: Usage;
  /** Of all attempts before the latest, also of those that are no longer in `past`. */
  readonly earlierUsage?: Usage;
}

/** How often a task of a service was restarted. */
export interface Restarts {
  readonly count: number;
  /** Since an attempt last ran well: the backoff grows with it. */
  readonly inRow: number;
  /** Nodes that were lost within seconds of its start there, one after the other; absent: none. */
  readonly tookDown?: readonly NodeId[];
}

export interface ReportedOutput {
  readonly stdout: string;
  readonly stderr: string;
}

export type TaskState =
  /** `isFresh`: it was only offered, so no part of it has begun. */
  | { readonly kind: "waiting"; readonly notBeforeMs: number; readonly isFresh?: true }
  /** To a pull cluster, which has not accepted it yet. */
  | { readonly kind: "offered"; readonly cluster: ClusterId; readonly offeredAtMs: number }
  /** Accepted by a pull cluster, which runs it by itself and may or may not report it. */
  | {
      readonly kind: "accepted";
      readonly cluster: ClusterId;
      readonly acceptedAtMs: number;
      readonly startedAtMs: number | undefined;
      /** The time of the cluster's last report about it. */
      readonly heardAtMs: number;
    }
  /**
   * Fetched ahead: the node's agent has it, and begins it in the place of a run with the same request
   * when that ends. It uses no capacity until then.
   */
  | {
      readonly kind: "held";
      readonly nodeId: NodeId;
      readonly heldAtMs: number;
      /** The agent is asked to return it. */
      readonly takeBack?: TakeBack;
    }
  /** `isBegun`: it was held, and the agent has begun it by itself. */
  | {
      readonly kind: "assigned";
      readonly nodeId: NodeId;
      readonly assignedAtMs: number;
      readonly isBegun?: true;
    }
  | {
      readonly kind: "running";
      readonly nodeId: NodeId;
      readonly assignedAtMs: number;
      readonly startedAtMs: number;
    }
  | {
      readonly kind: "stopping";
      readonly nodeId: NodeId;
      readonly assignedAtMs: number;
      readonly startedAtMs: number | undefined;
      readonly reason: string;
      /** It is placed again when it has stopped; absent: it is cancelled. */
      readonly isRequeued?: true;
    }
  | ({
      readonly kind: "succeeded";
      readonly startedAtMs: number;
      readonly endedAtMs: number;
    } & Ran)
  | ({
      readonly kind: "failed";
      readonly startedAtMs: number | undefined;
      readonly endedAtMs: number;
      readonly failure: TaskFailure;
    } & Ran)
  | ({
      readonly kind: "cancelled";
      readonly startedAtMs: number | undefined;
      readonly endedAtMs: number;
      readonly reason: string;
    } & Ran);

export interface TakeBack {
  readonly reason: string;
  /** A caller cancelled it: it ends when the agent returns it, and is stopped when it has begun. */
  readonly isCancel: boolean;
}

/** Where an attempt ran: on a node, by a cluster that accepted it, or nowhere yet. */
export interface Ran {
  readonly nodeId: NodeId | undefined;
  readonly cluster?: ClusterId;
}

export interface PastAttempt extends Ran {
  readonly attempt: number;
  readonly startedAtMs: number | undefined;
  readonly endedAtMs: number;
  readonly failure: TaskFailure;
  readonly usage?: Usage;
}

export type TaskStateKind = TaskState["kind"];

/** The number of tasks in each state, all 0. */
export const noKinds = (): Record<TaskStateKind, number> => ({
  waiting: 0,
  offered: 0,
  accepted: 0,
  held: 0,
  assigned: 0,
  running: 0,
  stopping: 0,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
});

export type HeldState = Extract<TaskState, { kind: "held" }>;
export type HeldTask = Task & { readonly state: HeldState };
export type AcceptedState = Extract<TaskState, { kind: "accepted" }>;
/** A state that binds resources on a node. */
export type ActiveState = Extract<TaskState, { kind: "assigned" | "running" | "stopping" }>;

export const isHeldTask = (task: Task): task is HeldTask => task.state.kind === "held";

const NEXT: Readonly<Record<TaskStateKind, readonly TaskStateKind[]>> = {
  waiting: ["assigned", "held", "offered", "cancelled"],
  held: ["held", "assigned", "running", "stopping", "waiting", "succeeded", "failed", "cancelled"],
  offered: ["waiting", "cancelled", "assigned", "accepted"],
  accepted: ["accepted", "waiting", "succeeded", "failed", "cancelled"],
  // cancelled: no agent can stop it on a lost node that keeps it
  assigned: ["running", "stopping", "waiting", "succeeded", "failed", "cancelled"],
  // running: its progress changed
  running: ["running", "stopping", "waiting", "succeeded", "failed", "cancelled"],
  // stopping: its start was reported late; succeeded: it finished before the stop reached it; waiting,
  // failed: it was being requeued, and failed with a node whose tasks are not retried
  stopping: ["stopping", "cancelled", "succeeded", "waiting", "failed"],
  succeeded: [],
  failed: [],
  cancelled: [],
};

/** From "no row" a task is placed, or cancelled alone. */
const FIRST: readonly TaskStateKind[] = ["assigned", "held", "offered", "cancelled"];

export const isEnded = (state: TaskState): boolean => NEXT[state.kind].length === 0;

export const canMove = (from: TaskState | undefined, to: TaskState): boolean =>
  (from === undefined ? FIRST : NEXT[from.kind]).includes(to.kind);

export const isActive = (state: TaskState): state is ActiveState =>
  state.kind === "assigned" || state.kind === "running" || state.kind === "stopping";

export const ranBy = (state: ActiveState | AcceptedState): Ran =>
  state.kind === "accepted"
    ? { nodeId: undefined, cluster: state.cluster }
    : { nodeId: state.nodeId };

/** The energy that counts as used. Work of an edge that vanished counts by its last progress, rounded down; a failed command counts as nothing. */
export function doneOf({ share = 0, state, progress }: Task): number {
  if (state.kind === "succeeded") return share;
  if (progress === undefined || (state.kind === "failed" && isOwnFailure(state.failure))) return 0;
  return partOf(share, hundredths(progress.percent));
}

/** The energy of its job that it will do or has done. */
export const placedOf = (task: Task): number =>
  isEnded(task.state) ? doneOf(task) : (task.share ?? 0);

/** Whether it failed by its own fault: such failures count against retries. */
export const isOwnFailure = ({ kind }: TaskFailure): boolean =>
  kind !== "lost" && kind !== "vanished" && kind !== "node-fault" && kind !== "requeued";

/** The usage of all ended attempts, as far as it is known. */
export const usageOf = (task: Task | undefined): Usage | undefined =>
  addUsage(task?.earlierUsage, task?.usage);

/** One clause that says why an attempt failed. */
export function describeFailure(failure: TaskFailure): string {
  switch (failure.kind) {
    case "exited":
      return failure.message ?? `exited with code ${failure.exitCode}`;
    case "signalled":
      return `killed by ${failure.signal}${failure.message === undefined ? "" : `: ${failure.message}`}`;
    case "time-limit":
      return "ran longer than its time limit";
    case "out-of-memory": {
      const { limitBytes } = failure;
      const limit = limitBytes === undefined ? "" : ` of ${formatBytes(limitBytes)}`;
      return `used more than its memory${limit}; ask for more with --memory`;
    }
    case "could-not-start":
      return `could not start: ${failure.message}`;
    case "node-fault":
      return `its node could not start it: ${failure.message}`;
    case "vanished":
      return `vanished: ${failure.message}`;
    case "lost":
      return `lost: ${failure.message}`;
    case "requeued":
      return failure.message;
  }
}
