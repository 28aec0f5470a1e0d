import { basename } from "node:path";
import type { Command } from "commander";
import { limits } from "../limits.ts";
import { declareExport } from "./rainbow-export.ts";
import { readRainbowConfig } from "./rainbow-config-file.ts";
import { type ImportPlan, planImport } from "./rainbow-import.ts";
import { renderImport } from "./render/rainbow-import.ts";
import type { Answer, Session, Shell } from "./session.ts";

const HELP = `
For people who come from rainbow: what its rainbow-config.yaml says, said here. Secrets and tokens are
taken over, so that clients go on with the files they have; import prints none. Export makes such a file.

Examples:
  busbar rainbow-config import rainbow-config.yaml --dry-run
  busbar rainbow-config import rainbow-config.yaml
  busbar rainbow-config export --cluster blue --rotate`;

export function declareRainbowConfig(command: Command, shell: Shell): void {
  command.usage("[options] <command>").addHelpText("after", HELP);
  const imports = command
    .command("import")
    .description("Take over secrets and tokens, and tell what becomes of every other key.");
  imports
    .argument("<file>", 'rainbow-config.yaml ("-": standard input)')
    .option("--dry-run", "change nothing, tell what would be")
    .action((file: string, flags: { readonly dryRun?: true }) =>
      shell.run(imports, (session) => importConfig(session, file, flags.dryRun === true)),
    );
  declareExport(command, shell);
}

async function importConfig(session: Session, file: string, isDry: boolean): Promise<Answer> {
  const content = await session.context.readInput(file, limits.messageBytesMax);
  const name = file === "-" ? "stdin" : basename(file);
  const config = readRainbowConfig(content.toString("utf8"), name);
  const client = await session.client();
  const { clusters } = await client.listClusters({});
  const plan = planImport(config, new Set(clusters.map((each) => each.name)));
  const { request } = plan;
  const isEmpty = request.registerSecret === undefined && request.clusters.length === 0;
  if (!isDry && !isEmpty) {
    const given = request.clusters.map((each) => ({ ...each }));
    await client.setCredentials({ ...request, clusters: given });
  }
  for (const warning of plan.warnings) await session.note(warning);
  return { json: toJson(plan, isDry), text: (page) => renderImport(plan, isDry, page) };
}

const toJson = ({ steps, flags, selectOptions, warnings }: ImportPlan, isDry: boolean) => ({
  dryRun: isDry,
  keys: steps,
  server: { flags, selectOptions },
  warnings,
});
