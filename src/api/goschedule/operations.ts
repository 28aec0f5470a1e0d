import type { Principal } from "../../core/access/principal.ts";
import type { Operations } from "../../server/operations/operations.ts";

/** What this door asks of Busbar, for whoever calls. */
export interface GoScheduleAccess {
  as(principal: Principal): GoScheduleOperations;
}

export type GoScheduleOperations = Pick<
  Operations,
  "listNewestTasks" | "listNodes" | "readOutputStart" | "submitJobs"
>;
