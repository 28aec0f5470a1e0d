import type { Command } from "commander";

/** What completion knows about a command: read from the declarations, never written twice. */
export interface CommandNode {
  /** "busbar nodes drain". */
  readonly path: string;
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly FlagNode[];
  /** Words its first argument may be. */
  readonly words: readonly string[];
  readonly commands: readonly CommandNode[];
}

export interface FlagNode {
  readonly long: string;
  readonly short: string | undefined;
  readonly summary: string;
  readonly takesValue: boolean;
  readonly choices: readonly string[];
}

export function toCommandNode(command: Command, parents: readonly string[] = []): CommandNode {
  const path = [...parents, command.name()];
  const flags = command.options
    .filter((option) => !option.hidden && option.long !== undefined)
    .map((option) => ({
      long: option.long ?? "",
      short: option.short,
      summary: option.description,
      takesValue: option.required || option.optional,
      choices: option.argChoices ?? [],
    }));
  const help = {
    long: "--help",
    short: "-h",
    summary: "show help",
    takesValue: false,
    choices: [],
  };
  return {
    path: path.join(" "),
    name: command.name(),
    summary: command.description(),
    flags: [...flags, help],
    words: command.registeredArguments[0]?.argChoices ?? [],
    commands: command.commands.map((each) => toCommandNode(each, path)),
  };
}

/** The command and all below it. */
export const flatten = (node: CommandNode): readonly CommandNode[] => [
  node,
  ...node.commands.flatMap(flatten),
];
