import type { Caller, ClusterInput, Operations } from "../../server/operations.ts";
import type { ClusterView, JobSpecView } from "../../server/views.ts";

/** What this door asks of Busbar. */
export type RainbowOperations = Pick<
  Operations,
  | "addSubsystem"
  | "deleteCluster"
  | "getCluster"
  | "removeSubsystem"
  | "satisfy"
  | "setClusterState"
  | "submitJobs"
> &
  Coming;

export interface OfferedTaskView {
  readonly id: string;
  readonly attempt: number;
  readonly spec: JobSpecView;
  readonly offeredAtMs: number;
}

interface Coming {
  registerCluster(
    caller: Caller,
    cluster: ClusterInput & { readonly withCredentials?: boolean | undefined },
  ): Promise<{
    readonly cluster: ClusterView;
    readonly credentials?: { readonly secret?: string; readonly token?: string };
  }>;
  checkCredential(
    which:
      | { readonly kind: "register" }
      | { readonly kind: "cluster-secret" | "cluster-token"; readonly cluster: string },
    secret: string,
  ): Promise<boolean>;
  listOffered(
    cluster: string,
    max?: number,
  ): Promise<{ readonly tasks: readonly OfferedTaskView[] }>;
  acceptTasks(
    caller: Caller,
    cluster: string,
    taskIds: readonly string[],
  ): Promise<{ readonly accepted: readonly string[] }>;
}
