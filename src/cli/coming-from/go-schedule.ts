import type { Command } from "commander";
import { type GoSchedulePlan, planGoSchedule } from "./go-schedule-import.ts";
import type { FileKind } from "./go-schedule-keys.ts";
import { readImported } from "./import-plan.ts";
import { renderPlan } from "../render/import-plan.ts";
import type { Answer, Session, Shell } from "../session.ts";

const HELP = `
For users of go-schedule: shows what its configuration files become here. Its workers and schedctl continue to work as
they are, with \`busbar server --go-schedule\`.

Examples:
  busbar go-schedule import management-node.yaml
  busbar go-schedule import worker-node.yaml --output json`;

export function declareGoSchedule(command: Command, shell: Shell): void {
  command.usage("[options] <command>").addHelpText("after", HELP);
  const imports = command
    .command("import")
    .description("Show what becomes of every key, and how to start the server. Changes nothing.");
  imports
    .argument(
      "<file>",
      'management-node.yaml, worker-node.yaml or schedctl.yaml ("-": standard input)',
    )
    .action((file: string) => shell.run(imports, (session) => importFile(session, file)));
}

async function importFile(session: Session, path: string): Promise<Answer> {
  const { content, name } = await readImported(session, path);
  const plan = planGoSchedule(content, name);
  for (const warning of plan.warnings) await session.note(warning);
  return {
    json: toJson(plan),
    text: (page) => [renderPlan(plan, "", page), ...NEXT[plan.file]].join("\n\n"),
  };
}

const toJson = ({ file, steps, flags, warnings }: GoSchedulePlan) => ({
  file,
  keys: steps,
  server: { flags },
  warnings,
});

/** The next steps for the file. */
const NEXT: Readonly<Record<FileKind, readonly string[]>> = {
  "management-node": [],
  "worker-node": [
    "The worker continues with this file. To replace it:  busbar agent --server HOST:7071 --name NAME",
  ],
  schedctl: [
    "schedctl continues with this file. To replace it:  busbar submit, jobs, logs, nodes, ...",
  ],
};
