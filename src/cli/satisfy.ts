import type { Command } from "commander";
import { limits } from "../limits.ts";
import { toSatisfyRow } from "./cluster-rows.ts";
import { notEmpty } from "./flags.ts";
import { renderSatisfy } from "./render/satisfy.ts";
import { readSelectOptions } from "./select-options.ts";
import type { Answer, Session, Shell } from "./session.ts";
import { keyAndValue, type Values } from "./state-values.ts";

interface SatisfyFlags {
  readonly select?: string;
  readonly selectOptions?: string;
  readonly parameter?: Values;
}

export function declareSatisfy(command: Command, shell: Shell): void {
  command
    .argument("<file>", 'a jobspec of any dialect, or a request as JSON ("-": standard input)')
    .option(
      "--select <name>",
      "tell which cluster this strategy would choose",
      notEmpty("--select"),
    )
    .option(
      "--select-options <file>",
      "its options, or rules as a list of priorities, YAML or JSON",
    )
    .option(
      "--parameter <key=value>",
      "for rules; goes before those of the jobspec (repeatable)",
      keyAndValue("--parameter"),
    )
    .addHelpText(
      "after",
      `
Nothing is submitted. Exits with 0 when one cluster could ever run all of it, with 1 when none could.
A request is a list of alternatives, each a list of trees: [[{"type": "node", "count": 2}]].
Strategies: random, first, round-robin, least-loaded, binpack, spread, cheapest, most-power, constraint.

Examples:
  busbar satisfy jobspec.yaml
  busbar satisfy jobspec.yaml --select cheapest
  busbar satisfy jobspec.yaml --select constraint --select-options rules.yaml`,
    )
    .action((file: string, flags: SatisfyFlags) =>
      shell.run(command, (session) => satisfy(session, file, flags)),
    );
}

async function satisfy(session: Session, file: string, flags: SatisfyFlags): Promise<Answer> {
  const text = await readText(session, file);
  const selection = await selectionOf(session, flags);
  const client = await session.client();
  // A jobspec is always an object, a request always a list.
  const ask = /^\s*\[/.test(text)
    ? ({ case: "request", value: text } as const)
    : ({ case: "jobspec", value: text } as const);
  const row = toSatisfyRow(await client.satisfy({ ask, ...selection }));
  return {
    json: row,
    text: (page) => renderSatisfy(row, page),
    exitCode: row.satisfied ? 0 : 1,
  };
}

/** Options without a strategy are those of rules, which is what a list of priorities is. */
async function selectionOf(
  session: Session,
  { select, selectOptions: file, parameter: parameters = {} }: SatisfyFlags,
) {
  if (select === undefined && file === undefined) return {};
  const options = file === undefined ? "" : readSelectOptions(await readText(session, file), file);
  return { selection: { strategy: select ?? "constraint", options, parameters } };
}

async function readText({ context }: Session, file: string): Promise<string> {
  return (await context.readInput(file, limits.messageBytesMax)).toString("utf8");
}
