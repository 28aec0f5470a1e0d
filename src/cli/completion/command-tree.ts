import type { Command } from "commander";
import { argumentKind, flagKind, type ValueKind } from "./server-values.ts";

/** The data of a command for completion: read from the declarations, never written twice. */
export interface CommandNode {
  /** "busbar nodes drain". */
  readonly path: string;
  readonly name: string;
  readonly summary: string;
  readonly flags: readonly FlagNode[];
  /** Words its first argument may be. */
  readonly words: readonly string[];
  /** Whether it has arguments at all. */
  readonly takesArguments: boolean;
  /** The kind of its arguments, if the server can list them. */
  readonly values: ValueKind | undefined;
  readonly commands: readonly CommandNode[];
}

export interface FlagNode {
  readonly long: string;
  readonly short: string | undefined;
  readonly summary: string;
  readonly takesValue: boolean;
  readonly choices: readonly string[];
  /** The kind of its value, if the server can list them. */
  readonly values: ValueKind | undefined;
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
      values: flagKind(option.long ?? "", path.slice(1)),
    }));
  const help = {
    long: "--help",
    short: "-h",
    summary: "show help",
    takesValue: false,
    choices: [],
    values: undefined,
  };
  return {
    path: path.join(" "),
    name: command.name(),
    summary: command.description(),
    flags: [...flags, help],
    words: command.registeredArguments[0]?.argChoices ?? [],
    takesArguments: command.registeredArguments.length > 0,
    values: command.registeredArguments.length === 0 ? undefined : argumentKind(path.slice(1)),
    commands: command.commands.map((each) => toCommandNode(each, path)),
  };
}

/** The command and all below it. */
export const flatten = (node: CommandNode): readonly CommandNode[] => [
  node,
  ...node.commands.flatMap(flatten),
];
