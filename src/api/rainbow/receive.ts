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

/** The parts that serve tasks to rainbow's clients. */
export interface Receiving {
  readonly access: RainbowAccess;
  readonly numbers: JobNumbers;
  readonly read: ReadText;
  /** Undefined: every receiver sees all offered tasks. */
  readonly shown?: ShownJobs | undefined;
}

export interface ReceiveRequest extends ClusterSpeaker {
  readonly jobsMax: number;
  /** Address and port of the connection: they distinguish receivers. */
  readonly receiver: string;
}

/**
 * The offered tasks of a cluster, oldest first. They stay offered until the cluster accepts them. `jobsMax`
 * of 0 or less means all; tasks that do not fit one answer come when these are accepted.
 */
export async function receive(
  { access, numbers, read, shown }: Receiving,
  { cluster, secret, jobsMax, receiver }: ReceiveRequest,
): Promise<ReadonlyMap<number, string>> {
  if (secret === "") throw refuse.noSecret();
  const operations = await asCluster(access, { cluster, secret });
  const most = jobsMax > 0 ? Math.min(jobsMax, limits.receivedJobsMax) : limits.receivedJobsMax;
  const isVisible = shown && ((id: string): boolean => shown.isVisible(id, receiver));
  const { tasks: offered } = await operations.listOffered(cluster, most, isVisible);
  // Another receiver may have received some since they were listed, and may ask while records for this one are read.
  const tasks = isVisible === undefined ? offered : offered.filter(({ id }) => isVisible(id));
  shown?.show(idsOf(tasks), receiver);
  const jobs = new Map<number, string>();
  let bytes = 0;
  for (const [at, task] of tasks.entries()) {
    const id = numbers.numberOf(task.id);
    const record = await toRecord(task, { id, cluster }, read);
    const size = sizeOf(record);
    // It came through a door with larger limits: the cluster accepts it over another wire.
    if (size > limits.receivedBytesMax) continue;
    bytes += size;
    if (bytes > limits.receivedBytesMax) {
      shown?.reveal(idsOf(tasks.slice(at)));
      break;
    }
    jobs.set(id, record);
  }
  return jobs;
}

const idsOf = (tasks: readonly { readonly id: string }[]): readonly string[] =>
  tasks.map(({ id }) => id);

/**
 * Accepts tasks for a cluster: of several receivers of one task the first gets it. True: all of them were
 * accepted. This wire cannot say which were not.
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
  let accepted = 0;
  for (let at = 0; at < ids.length; at += limits.receivedJobsMax) {
    accepted += await acceptSome(operations, cluster, ids.slice(at, at + limits.receivedJobsMax));
  }
  shown?.reveal(ids); // not before: until they are accepted, others would receive them
  return accepted === jobs.length;
}

/** Count of accepted tasks; unknown ids count as none. */
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
