import type { Command } from "commander";
import { readImported } from "./import-plan.ts";
import { declareExport } from "./rainbow-export.ts";
import { readRainbowConfig } from "./rainbow-config-file.ts";
import { planImport, type RainbowPlan } from "./rainbow-import.ts";
import { renderPlan } from "../render/import-plan.ts";
import type { TerminalPage } from "../render/page.ts";
import type { Answer, Session, Shell } from "../session.ts";

const HELP = `
For users of rainbow: shows what its rainbow-config.yaml becomes here. import takes over secrets and tokens,
so that clients continue with the files they have, and prints none of them. export writes such a file.

Examples:
  busbar rainbow-config import rainbow-config.yaml --dry-run
  busbar rainbow-config import rainbow-config.yaml
  busbar rainbow-config export --cluster blue --rotate`;

export function declareRainbowConfig(command: Command, shell: Shell): void {
  command.usage("[options] <command>").addHelpText("after", HELP);
  const imports = command
    .command("import")
    .description("Take over secrets and tokens, and show what becomes of every other key.");
  imports
    .argument("<file>", 'rainbow-config.yaml ("-": standard input)')
    .option("--dry-run", "change nothing; only show what import would do")
    .action((file: string, flags: { readonly dryRun?: true }) =>
      shell.run(imports, (session) => importConfig(session, file, flags.dryRun === true)),
    );
  declareExport(command, shell);
}

async function importConfig(session: Session, file: string, isDry: boolean): Promise<Answer> {
  const { content, name } = await readImported(session, file);
  const config = readRainbowConfig(content, name);
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
  return { json: toJson(plan, isDry), text: (page) => toText(plan, isDry, page) };
}

const toJson = ({ steps, flags, selectOptions, warnings }: RainbowPlan, isDry: boolean) => ({
  dryRun: isDry,
  keys: steps,
  server: { flags, selectOptions },
  warnings,
});

/** With the file that the flags need. */
function toText(plan: RainbowPlan, isDry: boolean, page: TerminalPage): string {
  const text = renderPlan(plan, isDry ? "would be set" : "set", page);
  const options = Object.entries(plan.selectOptions);
  return options.length === 0 ? text : `${text}\n\nselect.yaml:\n${options.map(toYaml).join("\n")}`;
}

/** Texts of several lines as blocks, as in rainbow's own file. */
const toYaml = ([key, text]: readonly [string, string]): string =>
  text.includes("\n")
    ? `${key}: |\n${text.trimEnd().replace(/^(?=.)/gm, "  ")}`
    : `${key}: ${JSON.stringify(text)}`;
