import type { JobId, TaskRef } from "../model/ids.ts";
import { jobId } from "../model/ids.ts";

// Numbers in keys have a fixed width, so that rows are read back in order.
export const jobKey = (id: number): string => `job/${String(id).padStart(10, "0")}`;
export const leftoverKey = (id: number): string => `leftover/${String(id).padStart(10, "0")}`;
export const taskKey = (id: number, index: number): string =>
  `task/${String(id).padStart(10, "0")}/${String(index).padStart(9, "0")}`;

/** The id in a job's key; undefined for other keys. */
export const jobIdOfKey = (key: string): JobId | undefined =>
  key.startsWith("job/") ? jobId(Number(key.slice("job/".length))) : undefined;

/** The job and the index in a task's key; undefined for other keys. */
export function taskOfKey(key: string): TaskRef | undefined {
  const [table, id, index] = key.split("/");
  return table === "task" ? { jobId: jobId(Number(id)), index: Number(index) } : undefined;
}
