import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { JobNumbers } from "./wire/job-numbers.ts";
import type { ReadText } from "./jobspecs/jobspecs.ts";
import {
  asCluster,
  type ClusterSpeaker,
  type RainbowAccess,
  type RainbowOperations,
} from "./operations.ts";
import { sizeOf, toRecord } from "./wire/record.ts";
import type { ShownJobs } from "./shown-jobs.ts";
import { refuse } from "./status.ts";

/** What it takes to tell tasks to rainbow's clients. */
export interface Receiving {
  readonly access: RainbowAccess;
  readonly numbers: JobNumbers;
  readonly read: ReadText;
  /** Undefined: every receiver is shown all that waits. */
  readonly shown?: ShownJobs | undefined;
}

export interface ReceiveRequest extends ClusterSpeaker {
  readonly jobsMax: number;
  /** Address and port of the connection: receivers are told apart by it. */
  readonly receiver: string;
}

/**
 * What waits for a cluster, oldest first, and goes on waiting: nothing is taken before it is accepted.
 * `jobsMax` of 0 or less means all; what does not fit one answer comes when these are accepted.
 */
export async function receive(
  { access, numbers, read, shown }: Receiving,
  { cluster, secret, jobsMax, receiver }: ReceiveRequest,
): Promise<ReadonlyMap<number, string>> {
  if (secret === "") throw refuse.noSecret();
  const operations = await asCluster(access, { cluster, secret });
  const most = jobsMax > 0 ? Math.min(jobsMax, limits.receivedJobsMax) : limits.receivedJobsMax;
  const isVisible = shown && ((id: string): boolean => shown.isVisible(id, receiver));
  const { tasks } = await operations.listOffered(cluster, most, isVisible);
  const jobs = new Map<number, string>();
  const received: string[] = [];
  let bytes = 0;
  for (const task of tasks) {
    // Another receiver may have been shown it while records of this one were read.
    if (isVisible?.(task.id) === false) continue;
    const id = numbers.numberOf(task.id);
    const record = await toRecord(task, { id, cluster }, read);
    const size = sizeOf(record);
    // It came through a door that takes larger ones: who takes it speaks another wire.
    if (size > limits.receivedBytesMax) continue;
    bytes += size;
    if (bytes > limits.receivedBytesMax) break;
    jobs.set(id, record);
    received.push(task.id);
  }
  shown?.show(received, receiver);
  return jobs;
}

/**
 * Takes jobs for a cluster: of several that want the same one, one gets it. True: all of them were
 * got; of which they were not nothing can be said on this wire.
 */
export async function accept(
  { access, numbers, shown }: Receiving,
  { cluster, secret, jobs }: ClusterSpeaker & { readonly jobs: readonly number[] },
): Promise<boolean> {
  if (secret === "") throw refuse.noSecret();
  if (jobs.length === 0) throw refuse.noJobs();
  const operations = await asCluster(access, { cluster, secret });
  const taskIds = new Set<string>();
  for (const job of jobs) {
    const taskId = numbers.taskOf(job);
    if (taskId !== undefined) taskIds.add(taskId);
  }
  if (taskIds.size === 0) return false;
  const ids = [...taskIds];
  shown?.forget(ids);
  let accepted = 0;
  for (let at = 0; at < ids.length; at += limits.receivedJobsMax) {
    accepted += await acceptSome(operations, cluster, ids.slice(at, at + limits.receivedJobsMax));
  }
  return accepted === jobs.length;
}

/** How many were got. A number that is no task's was never handed out, and gets nothing. */
async function acceptSome(
  operations: RainbowOperations,
  cluster: string,
  ids: readonly string[],
): Promise<number> {
  try {
    return (await operations.acceptTasks(cluster, ids)).accepted.length;
  } catch (error) {
    const isNoTask =
      error instanceof AppError &&
      (error.code === "invalid_argument" || error.code === "unprocessable");
    if (isNoTask) return 0;
    throw error;
  }
}
