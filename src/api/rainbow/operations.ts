import type { Operations } from "../../server/operations/operations.ts";

/** What this door asks of Busbar. */
export type RainbowOperations = Pick<
  Operations,
  | "acceptTasks"
  | "addSubsystem"
  | "cancelJob"
  | "checkCredential"
  | "checkTokens"
  | "deleteCluster"
  | "getCluster"
  | "getJob"
  | "readJobspec"
  | "listOffered"
  | "registerCluster"
  | "removeSubsystem"
  | "satisfy"
  | "setClusterState"
  | "submitJobs"
>;
