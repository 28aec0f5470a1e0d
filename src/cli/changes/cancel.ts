import type { Command } from "commander";
import type { ConditionFlags } from "../flags.ts";
import type { JobRow } from "../rows.ts";
import type { Shell } from "../session.ts";
import { addIds, changeEach, nameOf } from "./change-each.ts";

interface CancelFlags extends ConditionFlags {
  readonly reason?: string;
}

export function declareCancel(command: Command, shell: Shell): void {
  addIds(command)
    .option("--reason <text>", "say why; shown with the job")
    .addHelpText(
      "after",
      `
Running tasks get a TERM, and a KILL when they ignore it. Cancelling what has ended changes nothing.

Examples:
  busbar cancel 17
  busbar cancel 17.3 18 --reason "wrong input"
  busbar jobs --state pending --all -o json | jq -r '.jobs[].id' | xargs busbar cancel`,
    )
    .action((ids: readonly string[], { reason, ifRevision }: CancelFlags) =>
      shell.run(command, (session) =>
        changeEach(session, ids, {
          change: (client, id) => client.cancelJob({ id, reason, ifRevision }),
          describe,
        }),
      ),
    );
}

/** A running task takes a moment to stop; the answer is the job as it was when it was asked to. */
function describe(id: string, job: JobRow): string {
  const name = nameOf(id, job);
  if (id.includes(".")) return `${name} is being cancelled, unless it has ended`;
  return `${name} is ${job.endedAtMs === undefined ? "being cancelled" : job.state}`;
}
