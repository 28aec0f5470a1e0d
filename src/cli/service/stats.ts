import type { Command } from "commander";
import { toStatsRow } from "../json.ts";
import { renderStats } from "../render/stats.ts";
import type { Answer, Session, Shell } from "../session.ts";

export function declareStats(command: Command, shell: Shell): void {
  command
    .addHelpText("after", "\nExamples:\n  busbar stats\n  busbar stats --output json")
    .action(() => shell.run(command, showStats));
}

async function showStats(session: Session): Promise<Answer> {
  const client = await session.client();
  const row = toStatsRow(await client.getStats({}));
  return { json: row, text: (page) => renderStats(row, client.server, page) };
}
