import type { Command } from "commander";
import { jobOrTaskId } from "../flags.ts";
import { toExplanationRow } from "../json.ts";
import { renderExplanation } from "../render/explanation.ts";
import type { Answer, Session, Shell } from "../session.ts";

export function declareExplain(command: Command, shell: Shell): void {
  command
    .argument("<id>", "the job", jobOrTaskId("<id>"))
    .addHelpText("after", "\nExample:\n  busbar explain 17")
    .action((id: string) => shell.run(command, (session) => explain(session, id)));
}

async function explain(session: Session, id: string): Promise<Answer> {
  const client = await session.client();
  const row = toExplanationRow(await client.explainJob({ id }));
  return { json: row, text: (page) => renderExplanation(row, page) };
}
