import type { ClusterView, OfferedTaskView } from "../../views/views.ts";
import type {
  ClusterStateInput,
  SubsystemInput,
  SubsystemRef,
  TaskReportInput,
} from "../operations.ts";

/** Operations that a pull cluster, or a client that acts for it, calls. */
export interface ClusterOperations {
  /** Adds a subsystem to a cluster's graph, or replaces the subsystem of this name. */
  addSubsystem(subsystem: SubsystemInput): Promise<ClusterView>;
  removeSubsystem(which: SubsystemRef): Promise<{ readonly revision: number }>;
  /** Replaces the given keys; other keys stay. */
  setClusterState(state: ClusterStateInput): Promise<ClusterView>;
  /** Tasks offered to the cluster, oldest first; only those that pass the filter. */
  listOffered(
    cluster: string,
    max?: number,
    isWanted?: (taskId: string) => boolean,
  ): Promise<{
    readonly tasks: readonly OfferedTaskView[];
    readonly total: number;
    readonly revision: number;
  }>;
  /** The cluster accepts tasks, to run them by itself. Only one cluster can accept a task. */
  acceptTasks(
    cluster: string,
    ids: readonly string[],
  ): Promise<{
    readonly accepted: readonly string[];
    readonly refused: readonly { readonly id: string; readonly reason: string }[];
    readonly revision: number;
  }>;
  /** Reports the state of accepted tasks; the answer lists tasks that are no longer wanted. */
  reportTasks(
    cluster: string,
    reports: readonly TaskReportInput[],
  ): Promise<{ readonly unwanted: readonly string[]; readonly revision: number }>;
}
