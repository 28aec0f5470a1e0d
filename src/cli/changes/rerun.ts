import type { Command } from "commander";
import { addIfRevision, type ConditionFlags, jobOrTaskId } from "../flags.ts";
import { toSubmittedRow } from "../json.ts";
import type { Answer, Session, Shell } from "../session.ts";
import { waitAndTell } from "./wait-command.ts";

interface RerunFlags extends ConditionFlags {
  readonly failed?: true;
  readonly idempotencyKey?: string;
  readonly wait?: true;
  readonly quiet?: true;
}

export function declareRerun(command: Command, shell: Shell): void {
  addIfRevision(command)
    .argument("<id>", "the job", jobOrTaskId("<id>"))
    .option("--failed", "only the tasks of an array that failed")
    .option(
      "--idempotency-key <key>",
      "the same key submits only once, however often this command is repeated",
    )
    .option("--wait", "wait until it has ended; exit 1 unless it succeeded")
    .option("-q, --quiet", "print only the id")
    .addHelpText(
      "after",
      `
The new job has the present spec of the old one, without its dependencies.

Examples:
  busbar rerun 17
  busbar rerun 17 --failed --wait`,
    )
    .action((id: string, flags: RerunFlags) =>
      shell.run(command, (session) => rerun(session, id, flags)),
    );
}

async function rerun(session: Session, id: string, flags: RerunFlags): Promise<Answer> {
  const client = await session.client();
  const { failed: failedOnly = false, idempotencyKey, ifRevision, quiet } = flags;
  const { jobs, revision } = await client.rerunJob({ id, failedOnly, idempotencyKey, ifRevision });
  const rows = jobs.map(toSubmittedRow);
  const [job] = rows;
  const line = quiet === true ? (job?.id ?? "") : `job ${job?.id ?? ""} (${id} again)`;
  const json = { jobs: rows, revision: Number(revision) };
  if (flags.wait !== true) return { json, text: () => line };
  if (session.format === "table") await session.print(undefined, () => line);
  return waitAndTell(session, rows, { revision, mayHaveEnded: rows.map((row) => row.id) });
}
