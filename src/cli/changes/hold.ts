import type { Command } from "commander";
import type { ConditionFlags } from "../flags.ts";
import type { Shell } from "../session.ts";
import { addIds, changeEach, nameOf } from "./change-each.ts";

interface HoldFlags extends ConditionFlags {
  readonly reason?: string;
}

export function declareHold(command: Command, shell: Shell): void {
  addIds(command)
    .option("--reason <text>", "say why; shown with the job")
    .addHelpText(
      "after",
      `
Running tasks continue. A task that returns to the queue for a retry stays there.

Examples:
  busbar hold 17
  busbar hold 17.3 17.4 --reason "their input is wrong"
  busbar release 17`,
    )
    .action((ids: readonly string[], { reason, ifRevision }: HoldFlags) =>
      shell.run(command, (session) =>
        changeEach(session, ids, {
          change: (client, id) => client.holdJob({ id, reason, ifRevision }),
          describe: (id, job) => `${nameOf(id, job)} is on hold`,
        }),
      ),
    );
}

export function declareRelease(command: Command, shell: Shell): void {
  addIds(command)
    .addHelpText(
      "after",
      `
Releasing a job that is not on hold changes nothing.

Examples:
  busbar release 17
  busbar release 17.3`,
    )
    .action((ids: readonly string[], { ifRevision }: ConditionFlags) =>
      shell.run(command, (session) =>
        changeEach(session, ids, {
          change: (client, id) => client.releaseJob({ id, ifRevision }),
          describe: (id, job) => `${nameOf(id, job)} is no longer on hold`,
        }),
      ),
    );
}

export function declareRequeue(command: Command, shell: Shell): void {
  addIds(command)
    .option("--reason <text>", "say why; shown with the attempt that is stopped")
    .addHelpText(
      "after",
      `
Running tasks are stopped first: TERM, and KILL after their grace time. Then they are placed again, on any node, in a new
attempt, which uses no retry. A job that has ended cannot be requeued: busbar rerun submits it again.

Examples:
  busbar requeue 17
  busbar requeue 17.3 --reason "its node is slow"
  busbar hold 17 && busbar requeue 17     # stop it, and keep it in the queue`,
    )
    .action((ids: readonly string[], { reason, ifRevision }: HoldFlags) =>
      shell.run(command, (session) =>
        changeEach(session, ids, {
          change: (client, id) => client.requeueJob({ id, reason, ifRevision }),
          describe: (id, job) => `${nameOf(id, job)} is being stopped and placed again`,
        }),
      ),
    );
}
