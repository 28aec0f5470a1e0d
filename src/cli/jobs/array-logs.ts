import type { Job, Task } from "../../client/messages.ts";
import { stateOf } from "../../client/state.ts";
import { AppError, invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { copyOutput, createCollector, prefixLines, type StreamName } from "../output.ts";
import type { Answer, Session } from "../session.ts";
import { type LogsFlags, sinkOf, streamsOf, tailed, tellFile } from "./logs.ts";
import { createOutputs } from "./run-output.ts";
import { followToEnd } from "./run.ts";

/** At most so many missing outputs are named one by one. */
const MISSING_TOLD_MAX = 3;

/** The output of all tasks of an array, one after another, or as it arrives. */
export async function showArrayLogs(
  session: Session,
  job: Job,
  flags: LogsFlags,
): Promise<Answer | number> {
  if (flags.follow === true) return followArray(session, job, flags);
  if (session.format === "json") return collectArray(session, job, flags);
  const missing = new Set<string>(); // often the same for both streams
  let shown = 0;
  for await (const task of startedTasks(session, job.id, flags)) {
    for (const stream of streamsOf(flags)) {
      const error = await printOne(session, task, stream, flags);
      if (error === undefined) shown += 1;
      else missing.add(error);
    }
  }
  for (const text of [...missing].slice(0, MISSING_TOLD_MAX)) await session.note(text);
  if (missing.size > MISSING_TOLD_MAX)
    await session.note(`and ${missing.size - MISSING_TOLD_MAX} more`);
  for (const stream of streamsOf(flags)) await tellFile(session, job, stream);
  return missing.size > 0 && shown === 0 ? 1 : 0; // as for a single task
}

async function followArray(session: Session, job: Job, flags: LogsFlags): Promise<number> {
  if (session.format === "json")
    throw invalid("--follow", "an array has many outputs: name one task");
  if (flags.failed === true) throw invalid("--failed", "cannot be combined with --follow");
  if (flags.attempt !== 0)
    throw invalid("--attempt", "cannot be combined with --follow of an array");
  const stop = new AbortController();
  const wanted = streamsOf(flags);
  const sink = (stream: StreamName) =>
    wanted.includes(stream) ? sinkOf(session, stream, flags) : async () => undefined;
  const sinks = { stdout: sink("stdout"), stderr: sink("stderr") };
  const outputs = createOutputs(session, { sinks, prefixed: true, stop });
  const submitted = { id: job.id, existed: true };
  try {
    const run = { submitted, isSure: false, revision: job.revision, outputs, signal: stop.signal };
    await followToEnd(session, run);
    await outputs.drain();
    return outputs.isIncomplete() ? 1 : 0;
  } finally {
    stop.abort();
  }
}

/** Tasks that ran, by index. */
async function* startedTasks(
  session: Session,
  jobId: string,
  { failed }: LogsFlags,
): AsyncGenerator<Task> {
  const client = await session.client();
  const states = failed === true ? [stateOf("failed")] : [];
  let pageToken: string | undefined;
  do {
    const page = await client.listTasks({ jobId, states, pageSize: limits.pageSizeMax, pageToken });
    for (const task of page.tasks) if (task.attempt > 0) yield task;
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
}

/** Returns the reason when there is no output. */
async function printOne(
  session: Session,
  task: Task,
  stream: StreamName,
  flags: LogsFlags,
): Promise<string | undefined> {
  const prefixed = prefixLines(`[${task.index}] `, sinkOf(session, stream, flags));
  const lines = tailed(flags.tail, prefixed.write);
  const what = { taskId: task.id, stream, attempt: flags.attempt, follow: false };
  try {
    const { signal } = new AbortController();
    const { truncated } = await copyOutput(session, what, lines.write, signal);
    await lines.end();
    await prefixed.end();
    if (truncated) await session.note(`the ${stream} of ${task.id} is cut: it exceeded its limit`);
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "not_found") throw error;
    return `${task.id}: ${error.message}`;
  }
}

async function collectArray(session: Session, job: Job, flags: LogsFlags): Promise<Answer> {
  const outputs: unknown[] = [];
  let left = limits.outputKeptBytesMax;
  for await (const task of startedTasks(session, job.id, flags)) {
    for (const stream of streamsOf(flags)) {
      const collected = createCollector(left);
      const lines = tailed(flags.tail, collected.write);
      const what = { taskId: task.id, stream, attempt: flags.attempt, follow: false };
      const { signal } = new AbortController();
      try {
        const { truncated } = await copyOutput(session, what, lines.write, signal);
        await lines.end();
        const text = collected.text();
        left -= text.length;
        outputs.push({ taskId: task.id, stream, text, truncated });
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "not_found") throw error;
        outputs.push({ taskId: task.id, stream, missing: error.message });
      }
    }
  }
  return { json: { jobId: job.id, outputs }, text: () => "" };
}
