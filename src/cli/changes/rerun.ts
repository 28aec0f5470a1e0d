import type { Command } from "commander";
import { invalid } from "../../lib/errors.ts";
import { addIfRevision, type ConditionFlags, jobOrTaskId } from "../flags.ts";
import { toSubmittedRow } from "../json.ts";
import type { SubmittedRow } from "../rows.ts";
import type { Answer, Session, Shell } from "../session.ts";
import { forEachId, inTurn } from "./change-each.ts";
import { waitAndTell } from "./wait-command.ts";
import { addWaitTimeout, checkTimeout, type TimeoutFlags } from "./wait-timeout.ts";

interface RerunFlags extends ConditionFlags, TimeoutFlags {
  readonly failed?: true;
  readonly idempotencyKey?: string;
  readonly wait?: true;
  readonly quiet?: true;
}

export function declareRerun(command: Command, shell: Shell): void {
  addIfRevision(command)
    .argument("<id...>", "jobs", inTurn(jobOrTaskId("<id>")))
    .option("--failed", "only the tasks of an array that failed")
    .option(
      "--idempotency-key <key>",
      "the same key submits only once, however often this command is repeated",
    )
    .option("--wait", "wait until it has ended; exit 1 unless it succeeded")
    .option("-q, --quiet", "print only the id");
  addWaitTimeout(command)
    .addHelpText(
      "after",
      `
The new job has the present spec of the old one, without its dependencies.

Examples:
  busbar rerun 17
  busbar rerun 17 --failed --wait
  busbar jobs --state failed -o name | xargs busbar rerun`,
    )
    .action((ids: readonly string[], flags: RerunFlags) =>
      shell.run(command, (session) => rerun(session, ids, flags)),
    );
}

/** One rejection does not prevent the others. */
async function rerun(session: Session, ids: readonly string[], flags: RerunFlags): Promise<Answer> {
  const { failed: failedOnly = false, idempotencyKey, ifRevision, quiet } = flags;
  checkTimeout(flags);
  if (ids.length > 1 && idempotencyKey !== undefined) {
    throw invalid("--idempotency-key", "is for one job; leave it out for several");
  }
  const client = await session.client();
  const rows: SubmittedRow[] = [];
  const lines: string[] = [];
  let revision = 0n;
  const errors = await forEachId(session, ids, async (id) => {
    const answer = await client.rerunJob({ id, failedOnly, idempotencyKey, ifRevision });
    revision ||= answer.revision; // the wait begins at the first
    for (const row of answer.jobs.map(toSubmittedRow)) {
      rows.push(row);
      lines.push(quiet === true ? row.id : `job ${row.id} (${id} again)`);
    }
  });
  const exitCode = errors.length === 0 ? 0 : 1;
  const json = { jobs: rows, revision: Number(revision), ...(exitCode !== 0 && { errors }) };
  const text = (): string => lines.join("\n");
  if (flags.wait !== true || rows.length === 0) return { json, text, exitCode };
  if (session.format === "table") await session.print(undefined, text);
  const answer = await waitAndTell(session, rows, {
    revision,
    mayHaveEnded: rows.map((row) => row.id),
    timeoutMs: flags.timeout,
  });
  if (exitCode === 0) return answer;
  return { ...answer, json: { ...(answer.json as object), errors }, exitCode };
}
