import { stateOf } from "../../client/state.ts";
import { toTaskRow } from "../json.ts";
import { copyOutput } from "../output.ts";
import type { JobRow, TaskRow } from "../rows.ts";
import type { Session } from "../session.ts";

/** Of more jobs only the number is printed. */
const JOBS_TOLD = 3;
const LINES_TOLD = 5;
const STDERR_BYTES = 64 * 1024;

/** Prints for each failed job the reason, the end of its output, and the next command to type. */
export async function tellFailures(session: Session, jobs: readonly JobRow[]): Promise<void> {
  for (const job of jobs.slice(0, JOBS_TOLD)) await tellFailure(session, job);
  const more = jobs.length - JOBS_TOLD;
  if (more > 0) await session.note(`and ${more} more did not succeed: busbar jobs --state failed`);
}

async function tellFailure(session: Session, job: JobRow): Promise<void> {
  const { id, spec, state } = job;
  const task = state === "failed" ? await firstFailed(session, id) : undefined;
  const reason = task?.reason ?? job.reason;
  const many = job.tasks.failed > 1 ? `, ${job.tasks.failed} tasks` : "";
  const which = task === undefined || task.id === id ? "" : ` (task ${task.id})`;
  const why = reason === undefined ? "" : `: ${reason}${which}`;
  await session.note(`job ${id} (${spec.name}) ${state}${many}${why}`);
  if (task === undefined) return;
  const lines = await lastErrors(session, task.id);
  for (const line of lines) await session.note(`  ${line}`);
  const rest = job.taskTotal > 1 ? `busbar rerun ${id} --failed` : `busbar rerun ${id}`;
  await session.note(`see busbar logs ${task.id} --stderr; run it again with ${rest}`);
}

async function firstFailed(session: Session, jobId: string): Promise<TaskRow | undefined> {
  const client = await session.client();
  const { tasks } = await client.listTasks({ jobId, states: [stateOf("failed")], pageSize: 1 });
  const [first] = tasks;
  return first === undefined ? undefined : toTaskRow(first);
}

/** The last lines of a task's standard error; none where they cannot be read. */
async function lastErrors(session: Session, taskId: string): Promise<readonly string[]> {
  let end = Buffer.alloc(0);
  const keep = async (data: Uint8Array): Promise<void> => {
    end = Buffer.concat([end, data]).subarray(-STDERR_BYTES);
  };
  const what = { taskId, stream: "stderr", attempt: 0, follow: false } as const;
  const { signal } = new AbortController();
  try {
    await copyOutput(session, what, keep, signal);
  } catch {
    return []; // its node is disconnected, or it never ran: the reason says so
  }
  const lines = end.toString("utf8").trimEnd().split("\n");
  return lines.filter((line) => line !== "").slice(-LINES_TOLD);
}
