import type { Principal } from "../../core/access/principal.ts";
import type { Operations } from "../../server/operations/operations.ts";

/** What this door asks of Busbar, for whoever calls. */
export interface RikAccess {
  as(principal: Principal): RikOperations;
}

export type RikOperations = Pick<
  Operations,
  "cancelJob" | "follow" | "listDoorRecords" | "listJobs" | "putDoorRecords" | "submitJobs"
>;
