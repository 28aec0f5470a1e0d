import { readFileSync } from "node:fs";

export interface Case {
  readonly name: string;
  readonly input: string;
  readonly output: readonly string[];
}

/**
 * Reads a table of cases from a text file: "=== name", lines of input, "----", lines of output. Lines before
 * the first case are a comment; an empty line before the next case belongs to neither.
 */
export function readCases(file: URL): readonly Case[] {
  const [, ...blocks] = `\n${readFileSync(file, "utf8")}`.split(/\n=== /);
  return blocks.map((block) => {
    const [name = "", ...lines] = block.trimEnd().split("\n");
    const rule = lines.indexOf("----");
    if (rule === -1) throw new Error(`${file.pathname}: "${name}" has no line ----`);
    return { name, input: lines.slice(0, rule).join("\n"), output: lines.slice(rule + 1) };
  });
}
