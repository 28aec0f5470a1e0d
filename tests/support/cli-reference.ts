import { type Argument, Command, type Option } from "commander";
import type { Context } from "../../src/cli/context.ts";
import { nouns } from "../../src/cli/nouns.ts";
import { createShell } from "../../src/cli/session.ts";

// docs/reference/cli.md, generated from the commands themselves.

const GENERATED =
  "<!-- Made from src/cli: UPDATE_REFERENCE=1 npx vitest run tests/tidy/reference.test.ts -->";

const HOST = "the-host-name";
/** Commands are declared and never run here; they only use the host name of their context. */
const shell = createShell({ hostname: HOST, env: {} } as Context, {
  exitCode: 0,
  output: undefined,
});

/** Every command with its arguments and flags. */
export async function cliPage(): Promise<string> {
  const groups = [...new Set(nouns.map(({ group }) => group))];
  const parts = groups.map(async (group) => {
    const inside = nouns.filter((noun) => noun.group === group);
    const sections = await Promise.all(inside.map((noun) => declared(noun).then(section)));
    return [`## ${group.replace(":", "")}`, ...sections.flat()];
  });
  return [
    "# Commands",
    GENERATED,
    "Every command also takes `--server ADDRESS` (default: `$BUSBAR_SERVER` or `127.0.0.1:7071`), `--output FORMAT` and `--help`, which has examples.",
    "Exit codes: 0 done, 1 rejected or failed, 2 wrong usage. `busbar run` exits with the code of its command.",
    ...(await Promise.all(parts)).flat(),
    "",
  ].join("\n\n");
}

async function declared(noun: (typeof nouns)[number]): Promise<Command> {
  const command = new Command(noun.name).description(noun.summary);
  (await noun.load())(command, shell);
  return command;
}

function section(command: Command): readonly string[] {
  const rows = [...command.registeredArguments.map(argumentRow), ...flagRows(command)];
  return [
    `### busbar ${pathOf(command)}`,
    command.description(),
    ...(rows.length === 0 ? [] : [["| | |", "|---|---|", ...rows].join("\n")]),
    ...command.commands.flatMap(section),
  ];
}

const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`;

const flagRows = (command: Command): readonly string[] =>
  command.options.filter(({ hidden }) => !hidden).map(flagRow);

function argumentRow(argument: Argument): string {
  const name = argument.variadic ? `${argument.name()}...` : argument.name();
  const shown = argument.required ? `<${name}>` : `[${name}]`;
  return `| \`${shown}\` | ${cell(argument.description)} |`;
}

function flagRow({ flags, description, argChoices, defaultValue }: Option): string {
  const choices = argChoices === undefined ? [] : [`one of ${argChoices.join(", ")}`];
  const isShown = defaultValue !== undefined && defaultValue !== false && defaultValue !== true;
  const shown = textOf(defaultValue).replace(HOST, "the host name");
  const notes = [...choices, ...(isShown && shown !== "" ? [`default: ${shown}`] : [])];
  const note = notes.length === 0 ? "" : ` (${notes.join("; ")})`;
  return `| \`${flags.replaceAll("|", "\\|")}\` | ${cell(description)}${cell(note)} |`;
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(textOf).join(",");
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

const cell = (text = ""): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");
