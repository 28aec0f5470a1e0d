import type { Operations } from "../../server/operations/operations.ts";

/** What this door asks of Busbar. */
export type GoScheduleOperations = Pick<
  Operations,
  "listNewestTasks" | "listNodes" | "readOutput" | "submitJobs"
>;
