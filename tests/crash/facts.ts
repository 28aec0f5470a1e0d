import type { BusbarClient } from "../../src/client/client.ts";
import type { Job, Task } from "../../src/client/messages.ts";
import { stateName } from "../../src/client/state.ts";

/** The server's data about one task: everything that must not change once it has ended. */
export interface TaskFacts {
  readonly jobId: string;
  readonly index: number;
  readonly state: string;
  readonly attempt: number;
  readonly node: string;
  readonly exitCode: number | undefined;
  readonly signal: string;
  readonly reason: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly past: readonly PastFacts[];
}

export interface PastFacts {
  readonly attempt: number;
  readonly exitCode: number | undefined;
  readonly reason: string;
}

export interface JobFacts {
  readonly id: string;
  readonly key: string;
  readonly state: string;
  readonly tasks: readonly TaskFacts[];
}

export const toTaskFacts = (task: Task): TaskFacts => ({
  jobId: task.jobId,
  index: task.index,
  state: stateName(task.state),
  attempt: task.attempt,
  node: task.node ?? "",
  exitCode: task.exitCode,
  signal: task.signal ?? "",
  reason: task.reason ?? "",
  startedAtMs: Number(task.startedAtMs ?? 0),
  endedAtMs: Number(task.endedAtMs ?? 0),
  past: task.past.map(({ attempt, exitCode, reason }) => ({ attempt, exitCode, reason })),
});

/** Every job with all its tasks. */
export async function readFacts(client: BusbarClient): Promise<JobFacts[]> {
  const jobs: JobFacts[] = [];
  for await (const job of allJobs(client)) {
    const tasks: TaskFacts[] = [];
    for await (const task of allTasks(client, job.id)) tasks.push(toTaskFacts(task));
    jobs.push({ id: job.id, key: job.idempotencyKey ?? "", state: stateName(job.state), tasks });
  }
  return jobs;
}

async function* allJobs(client: BusbarClient): AsyncGenerator<Job> {
  for (let pageToken: string | undefined; ;) {
    const { jobs, nextPageToken } = await client.listJobs({ pageSize: 1_000, pageToken });
    yield* jobs;
    if (nextPageToken === undefined) return;
    pageToken = nextPageToken;
  }
}

async function* allTasks(client: BusbarClient, jobId: string): AsyncGenerator<Task> {
  for (let pageToken: string | undefined; ;) {
    const page = await client.listTasks({ jobId, pageSize: 1_000, pageToken });
    yield* page.tasks;
    if (page.nextPageToken === undefined) return;
    pageToken = page.nextPageToken;
  }
}
