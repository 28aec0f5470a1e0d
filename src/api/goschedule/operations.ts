import type { Principal } from "../../core/access/principal.ts";
import type { Operations } from "../../server/operations/operations.ts";

/** The operations that this door uses, by principal. */
export interface GoScheduleAccess {
  as(principal: Principal): GoScheduleOperations;
}

export type GoScheduleOperations = Pick<
  Operations,
  "listNewestTasks" | "listNodes" | "readOutputStart" | "submitJobs"
>;
