import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { CommanderError } from "commander";
import { describe, expect, test } from "vitest";
import type { Context } from "../../src/cli/context.ts";
import { createProgram } from "../../src/cli/program.ts";
import type { Shell } from "../../src/cli/session.ts";
import { shellWords } from "../support/shell-words.ts";

// Every `busbar` command line that a page shows is one that the program would take: command, subcommand, flags, values. Nothing is run.

const root = fileURLToPath(new URL("../../", import.meta.url));
const pages = globSync("{*.md,docs/**/*.md,examples/**/*.md}", { cwd: root }).filter(
  (page) => page !== "CHANGELOG.md",
);

const BLOCK = /```(console|sh)\n([\s\S]*?)```/g;
const PROMPT = /^\w*[$#] +/;
/** What may stand before a command. */
const COMMAND = /^(?:(?:[A-Z_]+=\S*|sudo|time|exec) +)*(?:npx +|\.\/)?busbar(?: +|$)/;

/** Lines that end in a backslash are one. */
function commandsOf(page: string): readonly string[] {
  const text = readFileSync(root + page, "utf8");
  const lines = [...text.matchAll(BLOCK)].flatMap(([, kind, block = ""]) => {
    const all = block.replaceAll(/\\\n\s*/g, "").split("\n");
    if (kind === "sh") return all;
    return all.filter((line) => PROMPT.test(line)).map((line) => line.replace(PROMPT, ""));
  });
  return lines.filter((line) => COMMAND.test(line)).map((line) => line.replace(COMMAND, ""));
}

/** In running text and in tables: often a command without its arguments. */
function namedOf(page: string): readonly string[] {
  const text = readFileSync(root + page, "utf8").replaceAll(/```[\s\S]*?```/g, "");
  return [...text.matchAll(INLINE)]
    .map(([, line = ""]) => line.replaceAll(/\s+/g, " ").replaceAll(ANY_JOB, " 17"))
    .filter((line) => !isForm(line));
}
const INLINE = /`busbar ([^`]+)`/g;
const ANY_JOB = / (?:ID|JOB)\b/g;
/** `agent …`, `service install|show`, `[--flag]`: forms of commands, not commands. */
const isForm = (line: string): boolean => /[…|[\]<>]|\.\.\./.test(line);
const INCOMPLETE = /missing required argument|argument missing|\(outputHelp\)/;

const context = {
  hostname: "here",
  env: { EDITOR: "vi" },
  stdin: "terminal",
  cwd: "/",
  nowMs: () => 1_800_000_000_000,
} as unknown as Context;
/** Where commands would begin their work. */
const shell = { context, run: () => Promise.resolve(), list: () => Promise.resolve() } as Shell;

/** Why the program would not take a command line; undefined: it would. */
async function whyRefused(line: string): Promise<string | undefined> {
  const silent = { writeOut: () => undefined, writeErr: () => undefined, width: 100 };
  try {
    await createProgram(shell, silent).parseAsync([...shellWords(line)], { from: "user" });
    return undefined;
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return undefined; // help, version
    return `busbar ${line}: ${error instanceof Error ? error.message : String(error)}`;
  }
}

describe("commands of pages", () => {
  test.each(pages)("%s", async (page) => {
    const answers = await Promise.all(commandsOf(page).map(whyRefused));
    const named = await Promise.all(namedOf(page).map(whyRefused));
    expect(answers.filter((answer) => answer !== undefined)).toEqual([]);
    expect(named.filter((why) => why !== undefined && !INCOMPLETE.test(why))).toEqual([]);
  });

  test("there are many, and a wrong one is seen", async () => {
    expect(pages.flatMap(commandsOf).length).toBeGreaterThan(150);
    expect(pages.flatMap(namedOf).length).toBeGreaterThan(150);
    expect(await whyRefused("submit --cpus 2 -- make")).toContain("--cpus");
    expect(await whyRefused("jobs --state runing")).toContain("runing");
    expect(await whyRefused("nodse")).toContain("nodse");
  });
});
