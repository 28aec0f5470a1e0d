import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Compile } from "typebox/schema";
import { expect, test } from "vitest";
import { parse as parseYaml, parseAllDocuments } from "yaml";
import { GraphqlEngine } from "../../src/api/native/graphql/engine.ts";
import { nexusExtension } from "../../src/api/nexus/graphql/extension.ts";
import { parseOidcSettings } from "../../src/api/web/oidc/settings.ts";
import { parseJobFile } from "../../src/cli/submit/job-file.ts";
import { jobFileSchema } from "../../src/cli/submit/job-file-schema.ts";
import { readSelectOptions } from "../../src/cli/submit/select-options.ts";
import { parseGraph } from "../../src/core/graph/jgf.ts";
import { graphRequest } from "../../src/core/graph/request/graph-request.ts";
import { readResourceChoice } from "../../src/core/graph/request/read-request.ts";
import { parseJobspec } from "../../src/core/jobspec/read/parse.ts";
import { parsePriorities } from "../../src/core/select/priorities.ts";
import { silentLogger } from "../../src/testing/silent-logger.ts";

// Code blocks of pages are what they say they are. The info string has the language and, for data, the document that the block is:
// "yaml job-file". The product's own reader reads it. "fragment" is a part of a document and must only parse. A language without
// a check here is an error: write "text", or put the example into examples/, where a test runs it, and link to it.

const root = fileURLToPath(new URL("../../", import.meta.url));
const pages = globSync("{*.md,docs/**/*.md,examples/**/*.md,src/**/*.md,tests/**/*.md}", {
  cwd: root,
});

interface Block {
  /** The info string, such as "yaml job-file"; empty: a picture, or text. */
  readonly info: string;
  readonly text: string;
  readonly line: number;
}

const BLOCK = /^( *)```(.*)\n([\s\S]*?)^ *```$/gm;

function blocksOf(markdown: string): readonly Block[] {
  return [...markdown.matchAll(BLOCK)].map((match) => {
    const [, indent = "", info = "", text = ""] = match;
    return {
      info: info.trim(),
      text: text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
      line: markdown.slice(0, match.index).split("\n").length,
    };
  });
}

const engine = new GraphqlEngine(silentLogger, [
  nexusExtension({ reader: {}, writer: {} } as unknown as Parameters<typeof nexusExtension>[0]),
]);
const jobFile = Compile(jobFileSchema() as never);
const metrics = readFileSync(`${root}docs/reference/metrics.md`, "utf8");

/** Nothing is run. */
function checkShell(script: string): void {
  execFileSync("sh", ["-n"], { input: script, stdio: ["pipe", "ignore", "pipe"] });
}

/** Lines after a prompt, with those that continue them; the others are output. */
function typedLines(text: string): string {
  const lines = text.split("\n");
  return lines
    .filter((line, at) => PROMPT.test(line) || lines[at - 1]?.endsWith("\\"))
    .map((line) => line.replace(PROMPT, ""))
    .join("\n");
}
const PROMPT = /^\w*[$#] +/;

const CHECKS: Readonly<Record<string, (text: string) => void>> = {
  "": checkPlain,
  text: checkPlain,
  sh: checkShell,
  console: (text) => checkShell(typedLines(text)),
  graphql: checkGraphql,
  promql(text) {
    for (const [, name] of text.matchAll(/\b(busbar_\w+?)(?:_bucket|_count|_sum)?\b/g)) {
      if (!metrics.includes(`| \`${name}\` |`)) throw new Error(`there is no metric ${name}`);
    }
  },
  "yaml fragment": parseYaml,
  "json fragment": JSON.parse,
  "yaml job-file"(text) {
    parseJobFile(text, "jobs.yaml");
    for (const document of parseAllDocuments(text)) {
      if (!jobFile.Check(document.toJS())) throw new Error("does not fit `busbar schema`");
    }
  },
  "yaml jobspec": (text) => void parseJobspec(text),
  "yaml rules": (text) => void parsePriorities(readSelectOptions(text, "rules")["priorities"]),
  "json graph": (text) => void parseGraph(JSON.parse(text)),
  "json request": (text) => void graphRequest(readResourceChoice(JSON.parse(text))),
  "json oidc": (text) => void parseOidcSettings(text, "--nexus-rest-oidc"),
};

/** Types, and the limits of depth and cost. */
function checkGraphql(query: string): void {
  try {
    engine.prepare({ query, variables: {} });
  } catch (error) {
    const { errors = [] } = engine.refusal(error);
    throw new Error(errors.map(({ message }) => message).join("; "), { cause: error });
  }
}

function checkPlain(text: string): void {
  if (/^[$#] /m.test(text)) throw new Error("has commands: write console after the ticks");
}

function whyWrong({ info, text }: Pick<Block, "info" | "text">): string | undefined {
  const check = CHECKS[info];
  if (check === undefined) {
    return `"${info}" is none of: ${Object.keys(CHECKS).filter(Boolean).join(", ")}`;
  }
  try {
    check(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

test.each(pages)("the code blocks of %s are what they say", (page) => {
  const wrong = blocksOf(readFileSync(root + page, "utf8")).flatMap((block) => {
    const why = whyWrong(block);
    return why === undefined ? [] : [`${page}:${block.line}: ${why}`];
  });
  expect(wrong).toEqual([]);
});

test.each(globSync("examples/*.yaml", { cwd: root }))(
  "%s is a document that Busbar takes",
  (file) => {
    const info = file.includes("jobspec") ? "yaml jobspec" : "yaml job-file";
    expect(whyWrong({ info, text: readFileSync(root + file, "utf8") })).toBeUndefined();
  },
);

test.each([
  ["yaml job-file", "name: a\ncomand: [a]\n", "comand"],
  ["yaml jobspec", "version: 1\ntasks: [{ resources: none, command: [a] }]\n", "none"],
  ["yaml rules", "- priority: 1\n  steps: [{ filter: 'a >' }]\n", "filter"],
  ["yaml fragment", "a: [b", ""],
  ["json graph", '{"graph": {"nodes": {}}}', "graph"],
  ["json request", '[[{"type": "node", "cuont": 2}]]', "cuont"],
  ["json oidc", '{"issuer": "https://id.example.com"}', "clientId"],
  ["graphql", "{ jobs { jobs { nmae } } }", "nmae"],
  ["promql", "rate(busbar_no_such_total[5m])", "busbar_no_such_total"],
  ["sh", "for a in 1 2; do echo", ""],
  ["console", "$ echo 'a\nb\n", ""],
  ["", "$ busbar up\n", "console"],
  ["toml", "a = 1", "toml"],
])("a wrong block is seen: %s", (info, text, named) => {
  expect(whyWrong({ info, text })).toContain(named);
});
