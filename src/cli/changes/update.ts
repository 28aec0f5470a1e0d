import type { Command } from "commander";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { type ConditionFlags, duration, notEmpty, wholeNumber } from "../flags.ts";
import type { Shell } from "../session.ts";
import { addIds, changeEach, nameOf } from "./change-each.ts";

interface UpdateFlags extends ConditionFlags {
  readonly priority?: number;
  readonly timeLimit?: number;
  readonly group?: string;
}

export function declareUpdate(command: Command, shell: Shell): void {
  const { priorityMax } = limits;
  const readLimit = duration("--time-limit");
  addIds(command)
    .option(
      "--priority <n>",
      "tasks with a higher priority go first",
      wholeNumber("--priority", { min: -priorityMax, max: priorityMax }),
    )
    .option(
      "--time-limit <duration>",
      "stop attempts that run longer, e.g. 5m; none: no limit",
      (text) => (text === "none" ? 0 : readLimit(text)),
    )
    .option("--group <name>", "move it to this group", notEmpty("--group"))
    .addHelpText(
      "after",
      `
A job that has ended cannot be changed. A new time limit applies to attempts that start later.

Examples:
  busbar update 17 --priority 10
  busbar update 17 18 --time-limit 2h --group nightly
  busbar update 17 --priority 5 --if-revision 120`,
    )
    .action((ids: readonly string[], flags: UpdateFlags) =>
      shell.run(command, (session) => {
        const { priority, timeLimit, group, ifRevision } = flags;
        if (priority === undefined && timeLimit === undefined && group === undefined) {
          throw invalid("--priority", "give at least one of --priority, --time-limit and --group");
        }
        const timeLimitMs = timeLimit === undefined ? undefined : BigInt(timeLimit);
        return changeEach(session, ids, {
          change: (client, id) =>
            client.updateJob({ id, priority, timeLimitMs, group, ifRevision }),
          describe: (id, job) => `${nameOf(id, job)} is updated`,
        });
      }),
    );
}
