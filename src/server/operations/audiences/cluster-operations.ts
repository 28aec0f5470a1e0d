import type { ClusterView, OfferedTaskView } from "../../views/views.ts";
import type {
  ClusterStateInput,
  SubsystemInput,
  SubsystemRef,
  TaskReportInput,
} from "../operations.ts";

/** What a cluster that pulls asks for, or whoever speaks for it. */
export interface ClusterOperations {
  /** Adds what is linked to a cluster's graph, or replaces the subsystem of this name. */
  addSubsystem(subsystem: SubsystemInput): Promise<ClusterView>;
  removeSubsystem(which: SubsystemRef): Promise<{ readonly revision: number }>;
  /** Keys told replace, others stay. */
  setClusterState(state: ClusterStateInput): Promise<ClusterView>;
  /** Tasks that wait for the cluster to take them, oldest first; of these only those that are wanted. */
  listOffered(
    cluster: string,
    max?: number,
    isWanted?: (taskId: string) => boolean,
  ): Promise<{
    readonly tasks: readonly OfferedTaskView[];
    readonly total: number;
    readonly revision: number;
  }>;
  /** The cluster takes tasks, to run them by itself. Each has one taker. */
  acceptTasks(
    cluster: string,
    ids: readonly string[],
  ): Promise<{
    readonly accepted: readonly string[];
    readonly refused: readonly { readonly id: string; readonly reason: string }[];
    readonly revision: number;
  }>;
  /** What became of tasks that the cluster took; answers with those that nobody wants any more. */
  reportTasks(
    cluster: string,
    reports: readonly TaskReportInput[],
  ): Promise<{ readonly unwanted: readonly string[]; readonly revision: number }>;
}
