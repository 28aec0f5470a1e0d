import type { Command } from "commander";
import type { Job } from "../../client/messages.ts";
import { invalid } from "../../lib/errors.ts";
import { formatDuration } from "../../lib/units.ts";
import { jobOrTaskId } from "../flags.ts";
import type { SubmittedRow } from "../rows.ts";
import type { Answer, Session, Shell } from "../session.ts";
import { waitForJobs, type WaitFrom, type Waited } from "../jobs/wait.ts";
import { inTurn } from "./change-each.ts";
import { tellFailures } from "./tell-failures.ts";
import { TIMEOUT, type TimeoutFlags } from "./wait-timeout.ts";

export function declareWait(command: Command, shell: Shell): void {
  command
    .argument("<id...>", "jobs", inTurn(wholeJobId))
    .option(...TIMEOUT)
    .addHelpText(
      "after",
      `
Exits 0 when all succeeded. Exits 1 otherwise, and prints why each of the others did not. Exits 124 when
the time of --timeout is over, and prints which jobs have not ended; they continue. --timeout 0s looks once.

Examples:
  busbar wait 17
  busbar wait 17 18 && ./collect.sh
  busbar wait 17 --timeout 10m || busbar cancel 17`,
    )
    .action((ids: readonly string[], { timeout }: TimeoutFlags) =>
      shell.run(command, (session) => wait(session, ids, timeout)),
    );
}

/** That of timeout(1). */
const LATE_CODE = 124;

/** The end of one task is not the end of its job. */
function wholeJobId(text: string): string {
  const id = jobOrTaskId("<id>")(text);
  const [job = ""] = id.split(".");
  if (job === id) return id;
  throw invalid("<id>", `${id} is one task; name the job, ${job}`);
}

async function wait(
  session: Session,
  ids: readonly string[],
  timeoutMs: number | undefined,
): Promise<Answer> {
  const client = await session.client();
  const unique = [...new Set(ids)];
  const { revision } = await client.countJobs({});
  const known: Job[] = [];
  for (const id of unique) known.push(await client.getJob({ id })); // a wrong id is an error before the wait begins
  const rows = known.map(({ id }) => ({ id, existed: true }));
  return waitAndTell(session, rows, { revision, mayHaveEnded: [], known, timeoutMs });
}

/** Waits until all have ended, or the time is over. */
export async function waitAndTell(
  session: Session,
  rows: readonly SubmittedRow[],
  from: WaitFrom,
): Promise<Answer> {
  const { ended, late } = await waitUninterrupted(session, rows, from);
  // Succeeded, or skipped because it was not needed.
  const bad = ended.filter(({ exitCode }) => exitCode !== 0);
  if (bad.length > 0 && session.format === "table") await tellFailures(session, bad);
  if (late.length === 0) {
    return { json: { jobs: ended }, text: () => "", exitCode: bad.length === 0 ? 0 : 1 };
  }
  if (session.format === "table") await session.note(lateText(late, from.timeoutMs ?? 0));
  return { json: { jobs: ended, notEnded: late }, text: () => "", exitCode: LATE_CODE };
}

/** Ctrl-C ends the wait alone, unlike that of `run`: says so, because the caller may expect the other. */
async function waitUninterrupted(
  session: Session,
  rows: readonly SubmittedRow[],
  from: WaitFrom,
): Promise<Waited> {
  const { context } = session;
  const ids = rows.map(({ id }) => id);
  const undo = context.onInterrupt(() => {
    const goOn =
      ids.length === 1
        ? `continues; busbar cancel ${ids[0]} ends it`
        : "continue unless they ended";
    const line = `stopped waiting: ${jobsText(ids)} ${goOn}`;
    void session
      .note(line)
      .catch(() => undefined)
      .then(() => context.exitNow(EXIT_INTERRUPTED));
  });
  try {
    return await waitForJobs(session, rows, from);
  } finally {
    undo();
  }
}

const EXIT_INTERRUPTED = 130;

/** More ids are only counted. */
const IDS_TOLD = 10;

/** "jobs 17, 18 have not ended after 5s"; of many the first ones. */
const lateText = (ids: readonly string[], timeoutMs: number): string =>
  `${jobsText(ids)} ${ids.length === 1 ? "has" : "have"} not ended after ${formatDuration(timeoutMs)}`;

function jobsText(ids: readonly string[]): string {
  const told = ids.slice(0, IDS_TOLD).join(", ");
  const more = ids.length > IDS_TOLD ? ` and ${ids.length - IDS_TOLD} more` : "";
  return `${ids.length === 1 ? "job" : "jobs"} ${told}${more}`;
}
