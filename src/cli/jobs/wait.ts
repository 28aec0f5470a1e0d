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

/**
 * The jobs after they have ended, in the order of submission. `mayHaveEnded`: those that could have ended by the revision of the answer,
 * because they existed or were skipped.
 */
export async function waitForJobs(
  session: Session,
  submitted: readonly SubmittedRow[],
  {
    revision,
    mayHaveEnded,
  }: { readonly revision: bigint; readonly mayHaveEnded: Iterable<string> },
): Promise<readonly JobRow[]> {
  const ended = new Map<string, JobRow>();
  const waiting = new Set(submitted.map(({ id }) => id));
  const client = await session.client();
  const progress = createProgressLine(session, waiting.size);
  const stop = new AbortController();
  const see = (job: Parameters<typeof toJobRow>[0] | undefined): void => {
    if (job === undefined || !isEnded(job.state) || !waiting.delete(job.id)) return;
    ended.set(job.id, toJobRow(job));
  };
  const only = submitted.length === 1 ? { jobId: submitted[0]?.id ?? "", tasks: true } : {};
  let unsure = [...mayHaveEnded];
  const events = followEvents(
    session,
    { ...only, jobs: true, afterRevision: revision },
    { signal: stop.signal },
  );
  for await (const { event } of events) {
    if (event.case === "sync" || event.case === "ask") {
      if (event.case === "ask") unsure = [...waiting];
      for (let at = 0; at < unsure.length; at += ASKED_AT_ONCE) {
        const some = unsure.slice(at, at + ASKED_AT_ONCE);
        for (const job of await Promise.all(some.map((id) => client.getJob({ id })))) see(job);
        // All have to end: while one has not, later ones need not be requested.
        if (event.case === "ask" && some.some((id) => waiting.has(id))) break;
      }
      unsure = [...waiting]; // after a lost connection anything may have happened
    }
    if (event.case === "job") see(event.value);
    if (event.case === "task" && isEnded(event.value.state)) progress.countTask();
    await progress.draw(ended);
    if (waiting.size === 0) break;
  }
  stop.abort();
  await progress.clear();
  return submitted.flatMap(({ id }) => ended.get(id) ?? []);
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
