import type { Command } from "commander";
import { invalid } from "../../lib/errors.ts";
import { nearest } from "../../lib/nearest.ts";

/**
 * For a command that lists when called alone and has subcommands: `nodes drian x` must be treated as a misspelt subcommand, not as too many
 * arguments.
 */
export function refuseUnknownSubcommand(command: Command): void {
  const [word] = command.args;
  if (word === undefined) return;
  const names = command.commands.map((each) => each.name());
  const meant = nearest(word, names);
  const hint = meant === undefined ? `; there are ${names.join(", ")}` : `; did you mean ${meant}?`;
  throw invalid(command.name(), `unknown command "${word}"${hint}`);
}
