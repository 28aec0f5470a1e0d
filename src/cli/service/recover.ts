import type { Command } from "commander";
import type { Recovery } from "../../core/model/recovery.ts";
import { notEmpty } from "../flags.ts";
import type { Answer, Shell } from "../session.ts";

interface RecoverFlags {
  readonly data: string;
  readonly acceptLoss?: true;
}

export function declareRecover(command: Command, shell: Shell): void {
  command
    .option("--data <dir>", "look at the data here", notEmpty("--data"), "./busbar-data")
    .option(
      "--accept-loss",
      "continue with the data that is left; the old files are kept beside it",
    )
    .addHelpText(
      "after",
      `
Shows what is left of a data directory that the server refuses, and what is lost. Changes nothing
without --accept-loss. Job ids and revisions that were used are never used again.

Examples:
  busbar recover --data /var/lib/busbar
  busbar recover --data /var/lib/busbar --accept-loss`,
    )
    .action(({ data, acceptLoss }: RecoverFlags) =>
      shell.run(command, async ({ context }) =>
        toAnswer(await context.services.recover({ data, acceptsLoss: acceptLoss === true })),
      ),
    );
}

function toAnswer(found: Recovery): Answer {
  const isOpen = found.wrong !== undefined && found.keptIn === undefined;
  return { json: found, text: () => describe(found).join("\n"), exitCode: isOpen ? 1 : 0 };
}

function describe(found: Recovery): string[] {
  const { wrong, problems, lostRevisions, lostJobs, damagedRows, orphanTasks, keptIn } = found;
  const lines = [
    `There:    revision ${found.revision}, ${count(found.rows, "row")} (${found.source})`,
  ];
  if (wrong === undefined)
    return [...lines, "Nothing is missing or damaged: the server can start."];
  if (lostRevisions !== undefined) {
    lines.push(`Lost:     ${range("revision", lostRevisions)}, acknowledged`);
  }
  if (lostJobs !== undefined) lines.push(`Lost:     ${range("job", lostJobs)}, as far as is known`);
  if (damagedRows > 0) lines.push(`Damaged:  ${count(damagedRows, "row")}`);
  if (orphanTasks > 0) lines.push(`Dropped:  ${count(orphanTasks, "task")} whose job is lost`);
  for (const problem of problems) lines.push(`          ${problem}`);
  const { revision, lastId } = found.goesOnAfter;
  lines.push(`Resumes:  after job ${lastId} and revision ${revision}`);
  if (keptIn !== undefined) return [...lines, `Accepted: the old files are in ${keptIn}`];
  return [
    ...lines,
    "",
    `Why: ${wrong}`,
    "Add --accept-loss to continue with the data that is left.",
  ];
}

const count = (many: number, what: string): string => `${many} ${what}${many === 1 ? "" : "s"}`;

const range = (what: string, { from, to }: { readonly from: number; readonly to: number }) =>
  from === to ? `${what} ${from}` : `${what}s ${from} to ${to} (${to - from + 1})`;
