import type { Command } from "commander";
import { limits } from "../../limits.ts";
import { toSatisfyRow } from "../json.ts";
import { renderSatisfy } from "../render/satisfy.ts";
import {
  addSelectFlags,
  type SelectFlags,
  selectionOf,
  STRATEGIES,
} from "../submit/select-flags.ts";
import type { Answer, Session, Shell } from "../session.ts";

export function declareSatisfy(command: Command, shell: Shell): void {
  command.argument(
    "<file>",
    'a jobspec of any dialect, or a request as JSON ("-": standard input)',
  );
  addSelectFlags(command, "show which cluster this strategy would choose");
  command
    .addHelpText(
      "after",
      `
Submits nothing. Exits 0 when a cluster can run all of it, now or later, and 1 when none can.
A request is a list of alternatives, each a list of trees: [[{"type": "node", "count": 2}]].
${STRATEGIES}

Examples:
  busbar satisfy jobspec.yaml
  busbar satisfy jobspec.yaml --select cheapest
  busbar satisfy jobspec.yaml --select constraint --select-options rules.yaml`,
    )
    .action((file: string, flags: SelectFlags) =>
      shell.run(command, (session) => satisfy(session, file, flags)),
    );
}

async function satisfy(session: Session, file: string, flags: SelectFlags): Promise<Answer> {
  const text = await readText(session, file);
  // Parameters alone request no selection.
  const selection = await selectionOf(flags, session.context);
  const isAsked = flags.select !== undefined || flags.selectOptions !== undefined;
  const client = await session.client();
  // A jobspec is always an object, a request always a list.
  const ask = /^\s*\[/.test(text)
    ? ({ case: "request", value: text } as const)
    : ({ case: "jobspec", value: text } as const);
  const row = toSatisfyRow(
    await client.satisfy({ ask, ...(isAsked && selection !== undefined ? { selection } : {}) }),
  );
  return {
    json: row,
    text: (page) => renderSatisfy(row, page),
    exitCode: row.satisfied ? 0 : 1,
  };
}

async function readText({ context }: Session, file: string): Promise<string> {
  return (await context.readInput(file, limits.messageBytesMax)).toString("utf8");
}
