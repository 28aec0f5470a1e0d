import type { Command } from "commander";
import manifest from "../../../package.json" with { type: "json" };
import type { Shell } from "../session.ts";

export const version: string = manifest.version;

export const versionText = `busbar ${version}`;

export function declareVersion(command: Command, shell: Shell): void {
  command
    .addHelpText("after", "\nThe server's version is part of `busbar stats`.")
    .action(() => shell.run(command, async () => ({ json: { version }, text: () => versionText })));
}
