import type { Command } from "commander";
import { invalid } from "../../lib/errors.ts";
import { jobOrTaskId } from "../flags.ts";
import type { SubmittedRow } from "../rows.ts";
import type { Answer, Session, Shell } from "../session.ts";
import { waitForJobs } from "../jobs/wait.ts";
import { inTurn } from "./change-each.ts";
import { tellFailures } from "./tell-failures.ts";

export function declareWait(command: Command, shell: Shell): void {
  command
    .argument("<id...>", "jobs", inTurn(wholeJobId))
    .addHelpText(
      "after",
      `
Exits 0 when all succeeded. Exits 1 otherwise, and prints why each of the others did not.

Examples:
  busbar wait 17
  busbar wait 17 18 && ./collect.sh`,
    )
    .action((ids: readonly string[]) => shell.run(command, (session) => wait(session, ids)));
}

/** The end of one task is not the end of its job. */
function wholeJobId(text: string): string {
  const id = jobOrTaskId("<id>")(text);
  const [job = ""] = id.split(".");
  if (job === id) return id;
  throw invalid("<id>", `${id} is one task; name the job, ${job}`);
}

async function wait(session: Session, ids: readonly string[]): Promise<Answer> {
  const client = await session.client();
  const unique = [...new Set(ids)];
  const { revision } = await client.countJobs({});
  const rows: SubmittedRow[] = [];
  for (const id of unique) {
    const job = await client.getJob({ id }); // a wrong id is an error before the wait begins
    rows.push({ id: job.id, existed: true });
  }
  return waitAndTell(session, rows, { revision, mayHaveEnded: rows.map(({ id }) => id) });
}

/** Waits until all have ended. */
export async function waitAndTell(
  session: Session,
  rows: readonly SubmittedRow[],
  from: Parameters<typeof waitForJobs>[2],
): Promise<Answer> {
  const ended = await waitForJobs(session, rows, from);
  // Succeeded, or skipped because it was not needed.
  const bad = ended.filter(({ exitCode }) => exitCode !== 0);
  if (bad.length > 0 && session.format === "table") await tellFailures(session, bad);
  return { json: { jobs: ended }, text: () => "", exitCode: bad.length === 0 ? 0 : 1 };
}
