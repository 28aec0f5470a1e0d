import type { Operations } from "../../server/operations.ts";

/** What this door asks of Busbar. */
export type RainbowOperations = Pick<
  Operations,
  | "acceptTasks"
  | "addSubsystem"
  | "checkCredential"
  | "deleteCluster"
  | "getCluster"
  | "listOffered"
  | "registerCluster"
  | "removeSubsystem"
  | "satisfy"
  | "setClusterState"
  | "submitJobs"
>;
