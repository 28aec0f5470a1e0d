import type { Job } from "../../client/messages.ts";
import { isEnded } from "../../client/state.ts";
import { followEvents } from "./follow.ts";
import { toJobRow } from "../json.ts";
import type { JobRow, SubmittedRow } from "../rows.ts";
import type { Session } from "../session.ts";

/** The progress of a wait. */
export interface WaitProgress {
  readonly jobs: number;
  readonly jobsEnded: number;
  readonly jobsFailed: number;
  readonly tasksEnded: number;
}

/** "3 of 10 jobs ended, 1 not successfully"; for a single job its tasks. */
export function progressText({ jobs, jobsEnded, jobsFailed, tasksEnded }: WaitProgress): string {
  const failed = jobsFailed === 0 ? "" : `, ${jobsFailed} not successfully`;
  const tasks = tasksEnded === 0 ? "" : `, ${tasksEnded} tasks ended`;
  return `${jobsEnded} of ${jobs} ${jobs === 1 ? "job" : "jobs"} ended${failed}${tasks}`;
}

/** The shortest time between two updates of the progress line. */
const REDRAW_MS = 100;

/** How many jobs are requested at once. */
const ASKED_AT_ONCE = 32;

/** A timer of Node's lasts 24 days at most. */
const TIMER_MS_MAX = 86_400_000;

export interface WaitFrom {
  readonly revision: bigint;
  /** The jobs that could have ended by this revision, because they existed or were skipped. */
  readonly mayHaveEnded: Iterable<string>;
  /** Jobs as they were read after this revision. */
  readonly known?: readonly Job[];
  /** Absent: waits for ever. */
  readonly timeoutMs?: number | undefined;
}

export interface Waited {
  /** The jobs that have ended, in the order of submission. */
  readonly ended: readonly JobRow[];
  /** The ids of those that had not ended in time. */
  readonly late: readonly string[];
}

/** Waits until all jobs have ended, or the time is over. */
export async function waitForJobs(
  session: Session,
  submitted: readonly SubmittedRow[],
  from: WaitFrom,
): Promise<Waited> {
  const ended = new Map<string, JobRow>();
  const waiting = new Set(submitted.map(({ id }) => id));
  const client = await session.client();
  const progress = createProgressLine(session, waiting.size);
  const stop = new AbortController();
  const see = (job: Job): void => {
    if (!isEnded(job.state) || !waiting.delete(job.id)) return;
    ended.set(job.id, toJobRow(job));
  };
  const only = submitted.length === 1 ? { jobId: submitted[0]?.id ?? "", tasks: true } : {};
  const { signal } = stop;
  let unsure = [...from.mayHaveEnded];
  const follow = async (): Promise<void> => {
    const following = { ...only, jobs: true, afterRevision: from.revision };
    for await (const { event } of followEvents(session, following, { signal })) {
      if (event.case === "sync" || event.case === "ask") {
        if (event.case === "ask") unsure = [...waiting];
        for (let at = 0; at < unsure.length; at += ASKED_AT_ONCE) {
          const some = unsure.slice(at, at + ASKED_AT_ONCE);
          const read = some.map((id) => client.getJob({ id }, { signal }));
          for (const job of await Promise.all(read)) see(job);
          // All have to end: while one has not, later ones need not be requested.
          if (event.case === "ask" && some.some((id) => waiting.has(id))) break;
        }
        unsure = [...waiting]; // after a lost connection anything may have happened
      }
      if (event.case === "job") see(event.value);
      if (event.case === "task" && isEnded(event.value.state)) progress.countTask();
      await progress.draw(ended);
      if (waiting.size === 0) return;
    }
  };
  for (const job of from.known ?? []) see(job);
  const alarm = startAlarm(session, from.timeoutMs, stop);
  try {
    if (waiting.size > 0 && !signal.aborted) await follow();
  } catch (error) {
    if (!alarm.isOver()) throw error;
  } finally {
    stop.abort();
    await progress.clear();
  }
  return { ended: submitted.flatMap(({ id }) => ended.get(id) ?? []), late: [...waiting] };
}

/** Aborts the wait when its time is over. */
function startAlarm({ context }: Session, timeoutMs: number | undefined, stop: AbortController) {
  let isOver = false;
  const ring = (): void => {
    if (stop.signal.aborted) return;
    isOver = true;
    stop.abort();
  };
  const count = async (): Promise<void> => {
    for (let leftMs = timeoutMs ?? 0; leftMs > 0; leftMs -= TIMER_MS_MAX) {
      await context.sleep(Math.min(leftMs, TIMER_MS_MAX), stop.signal);
    }
    ring();
  };
  if (timeoutMs === 0) ring();
  else if (timeoutMs !== undefined) void count();
  return { isOver: () => isOver };
}

/** One line that is overwritten, on a terminal only. */
function createProgressLine({ context }: Session, jobs: number) {
  const { stderr } = context;
  let drawnAtMs = 0;
  let tasksEnded = 0;
  return {
    countTask: () => (tasksEnded += 1),
    async draw(ended: ReadonlyMap<string, JobRow>): Promise<void> {
      const nowMs = context.nowMs();
      if (!stderr.isTerminal || nowMs - drawnAtMs < REDRAW_MS) return;
      drawnAtMs = nowMs;
      const jobsFailed = [...ended.values()].filter(({ state }) => state !== "succeeded").length;
      const text = progressText({ jobs, jobsEnded: ended.size, jobsFailed, tasksEnded });
      await stderr.write(`\r\u001b[K${text}`);
    },
    async clear(): Promise<void> {
      if (stderr.isTerminal && drawnAtMs > 0) await stderr.write("\r\u001b[K");
    },
  };
}
