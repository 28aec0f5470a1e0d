import type { Command } from "commander";
import type { Restored } from "../../core/model/recovery.ts";
import { notEmpty } from "../flags.ts";
import type { Answer, Shell } from "../session.ts";

interface Flags {
  readonly data: string;
  readonly replaces?: string;
}

export function declareRestore(command: Command, shell: Shell): void {
  command
    .argument("<file>", "a backup")
    .option("--data <dir>", "make the data directory here", notEmpty("--data"), "./busbar-data")
    .option(
      "--replaces <dir>",
      "continue after the ids of this data directory",
      notEmpty("--replaces"),
    )
    .addHelpText(
      "after",
      `
Checks every row of the backup first. The directory must be empty or missing. With --replaces the
record in the old data directory says which ids were used after the backup; without it ids continue
far above those of the backup. Tasks that agents still run and that are not in the backup are
stopped when their agents come back.

Example:
  busbar restore monday.backup --data /var/lib/busbar --replaces /var/lib/busbar.damaged`,
    )
    .action((file: string, { data, replaces }: Flags) =>
      shell.run(command, async ({ context }) =>
        toAnswer(await context.services.restore({ file, data, replaces })),
      ),
    );
}

const toAnswer = (restored: Restored): Answer => ({
  json: restored,
  text() {
    const { directory, revision, rows, goesOnAfter, isExact } = restored;
    const known = isExact ? "" : " (ids used after the backup are not known)";
    return [
      `Restored ${rows} rows of revision ${revision} into ${directory}.`,
      `Continues after job ${goesOnAfter.lastId} and revision ${goesOnAfter.revision}${known}.`,
    ].join("\n");
  },
});
