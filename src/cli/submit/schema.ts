import type { Command } from "commander";
import type { Shell } from "../session.ts";

const HELP = `
Editors use it to check and complete job files:

  busbar schema >busbar-jobs.schema.json

Name it in a comment at the top of a file, for the YAML language server:

  # yaml-language-server: $schema=busbar-jobs.schema.json`;

export function declareSchema(command: Command, shell: Shell): void {
  command.addHelpText("after", HELP).action(() =>
    shell.run(command, async () => {
      const { jobFileSchema } = await import("./job-file-schema.ts");
      const schema = jobFileSchema();
      return { json: schema, text: () => JSON.stringify(schema, undefined, 2) };
    }),
  );
}
