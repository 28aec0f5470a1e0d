import type { Principal } from "../../core/access/principal.ts";
import type { Operations } from "../../server/operations/operations.ts";

/** The operations that this door uses, by principal. */
export interface RikAccess {
  as(principal: Principal): RikOperations;
}

export type RikOperations = Pick<
  Operations,
  | "addInstances"
  | "applyService"
  | "cancelJob"
  | "follow"
  | "getInstance"
  | "getJob"
  | "getService"
  | "listDoorRecords"
  | "listInstances"
  | "listJobBriefs"
  | "listJobs"
  | "listServices"
  | "putDoorRecords"
  | "removeInstances"
  | "removeService"
  | "rollbackService"
  | "scaleService"
  | "submitJobs"
>;
