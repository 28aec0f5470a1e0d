import type { Command } from "commander";
import { invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Context } from "../../context.ts";
import { inputText } from "./input-text.ts";

export interface EntriesFlags {
  readonly eachLine?: string;
  readonly fromJson?: string;
}

export function addEntriesFlags(command: Command): void {
  command
    .option(
      "--each-line <file>",
      'run once for each line of this file, which is in BUSBAR_ENTRY ("-": standard input)',
    )
    .option(
      "--from-json <file>",
      "run once for each element of a JSON array in this file; its JSON is in BUSBAR_ENTRY",
    );
}

/** A text for each task; undefined: it is no job of that kind. */
export async function entriesOf(
  { eachLine, fromJson }: EntriesFlags,
  context: Context,
): Promise<string[] | undefined> {
  if (eachLine !== undefined && fromJson !== undefined) {
    throw invalid("--from-json", "cannot be combined with --each-line");
  }
  const flag = eachLine === undefined ? "--from-json" : "--each-line";
  const file = eachLine ?? fromJson;
  if (file === undefined) return undefined;
  const content = await context.readInput(file, limits.messageBytesMax);
  const text = inputText(content, flag);
  const entries = flag === "--each-line" ? linesOf(text) : elementsOf(text);
  if (entries.length === 0) throw invalid(flag, `${file} is empty: there is no task to run`);
  const nul = entries.findIndex((entry) => entry.includes("\0"));
  if (nul >= 0) throw invalid(flag, `line ${nul + 1} has a NUL character`); // JSON escapes it
  return entries;
}

/** A newline at the end begins no other line; an empty file has none. */
const linesOf = (text: string): string[] =>
  text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);

function elementsOf(text: string): string[] {
  let value: unknown;
  try {
    value = JSON.parse(text, withNumbersAsWritten);
  } catch (error) {
    throw invalid("--from-json", `is not JSON: ${error instanceof Error ? error.message : ""}`);
  }
  if (!Array.isArray(value)) throw invalid("--from-json", "must be a JSON array, like [1, 2]");
  return value.map((element) => JSON.stringify(element));
}

/** A number of a double's precision only would be another one: ids often have more digits. */
const withNumbersAsWritten = (_: string, value: unknown, from?: { source: string }): unknown =>
  typeof value === "number" && from !== undefined ? AS_WRITTEN.rawJSON(from.source) : value;

/** TypeScript does not know it yet. */
const AS_WRITTEN = JSON as unknown as { rawJSON(text: string): unknown };
