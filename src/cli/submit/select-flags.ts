import type { Command } from "commander";
import { limits } from "../../limits.ts";
import type { Context } from "../context.ts";
import { notEmpty } from "../flags.ts";
import type { SelectOptions } from "./select-options.ts";
import { keyAndValue, type Values } from "../clusters/state-values.ts";

/** How one of several clusters is chosen, as far as it does not depend on a job. */
export interface StrategyFlags {
  readonly select?: string;
  readonly selectOptions?: string;
}

export interface SelectFlags extends StrategyFlags {
  readonly parameter?: Values;
}

export interface ChosenStrategy {
  readonly strategy: string;
  readonly options: SelectOptions;
}

export function addStrategyFlags(command: Command, what: string): void {
  command
    .option("--select <name>", what, notEmpty("--select"))
    .option(
      "--select-options <file>",
      "its options, or rules as a list of priorities, YAML or JSON",
      notEmpty("--select-options"),
    );
}

export function addSelectFlags(command: Command, what: string): void {
  addStrategyFlags(command, what);
  command.option(
    "--parameter <key=value>",
    "a parameter of the rules; overrides one of the jobspec (repeatable)",
    keyAndValue("--parameter"),
  );
}

export const STRATEGIES =
  "Strategies: random, first, round-robin, least-loaded, binpack, spread, cheapest, most-power, constraint.";

/** Options without a strategy are those of rules: a list of priorities. */
export async function strategyOf(
  { select, selectOptions: file }: StrategyFlags,
  context: Context,
): Promise<ChosenStrategy | undefined> {
  if (select === undefined && file === undefined) return undefined;
  const options = file === undefined ? {} : await readOptions(context, file);
  return { strategy: select ?? "constraint", options };
}

async function readOptions(context: Context, file: string): Promise<SelectOptions> {
  const content = await context.readInput(file, limits.messageBytesMax);
  const { readSelectOptions } = await import("./select-options.ts");
  return readSelectOptions(content.toString("utf8"), file === "-" ? "stdin" : file);
}

export interface WireSelection {
  /** Undefined: the server's. */
  readonly strategy: string | undefined;
  /** As JSON; undefined: none. */
  readonly options: string | undefined;
  readonly parameters: Values;
}

/** Undefined without any of these flags. */
export async function selectionOf(
  flags: SelectFlags,
  context: Context,
): Promise<WireSelection | undefined> {
  const chosen = await strategyOf(flags, context);
  if (chosen === undefined && flags.parameter === undefined) return undefined;
  return toWireSelection(chosen, flags.parameter);
}

export function toWireSelection(
  chosen: ChosenStrategy | undefined,
  parameters: Values = {},
): WireSelection {
  const { strategy, options = {} } = chosen ?? {};
  const hasOptions = Object.keys(options).length > 0;
  return { strategy, options: hasOptions ? JSON.stringify(options) : undefined, parameters };
}
