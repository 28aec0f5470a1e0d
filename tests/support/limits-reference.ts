import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { formatBytes, formatDuration } from "../../src/lib/units.ts";
import { limits } from "../../src/limits.ts";

// docs/reference/limits.md: values from the modules in src/limits, words from the comments beside them.

const folder = fileURLToPath(new URL("../../src/limits/", import.meta.url));

/** For readers, those of callers first; a file that is not named here comes last, under its own name. */
const TITLES: Readonly<Record<string, string>> = {
  job: "Jobs",
  api: "Calls",
  document: "Documents, graphs and requests",
  graphql: "GraphQL",
  watch: "Watches",
  output: "Output, and clients of running tasks",
  progress: "Progress",
  state: "State of the server",
  secret: "Secrets",
  agent: "Agents",
  link: "Links to agents",
  ahead: "Tasks fetched ahead",
  launcher: "Processes and images on a node",
  machine: "Facts of machines",
  lower: "Slurm, Flux and sites",
  remote: "Workers of go-schedule",
  doors: "Doors of other systems",
  transport: "Connections and bytes under way",
  loop: "The control loop",
  store: "The store",
};

const PART = /\/\*\*([\s\S]*?)\*\/\nexport const \w+ = \{\n([\s\S]*?)\n\} as const;/g;
const ENTRY = /^ {2}(\w+): .+?,(?: \/\/ (.*))?$/;

function sectionOf(name: string): string {
  const text = readFileSync(`${folder}${name}.ts`, "utf8");
  const parts = [...text.matchAll(PART)].map(([, about = "", body = ""]) => {
    const rows = body.split("\n").flatMap((line) => {
      const [, key, words = ""] = ENTRY.exec(line) ?? [];
      return key === undefined ? [] : [`| \`${key}\` | ${shown(key)} | ${words} |`];
    });
    return `${words(about)}\n\n| limit | value | |\n|---|---|---|\n${rows.join("\n")}`;
  });
  return [`## ${TITLES[name] ?? name}`, ...parts].join("\n\n");
}

/** Paths of pages become links. */
const words = (comment: string): string =>
  comment
    .replaceAll(/\s*\n\s*\*\s*/g, " ")
    .trim()
    .replaceAll(/docs\/((?:[\w-]+\/)*([\w-]+)\.md)/g, "[$2](../$1)");

function shown(key: string): string {
  const value: unknown = (limits as Readonly<Record<string, unknown>>)[key];
  if (typeof value !== "number") throw new Error(`src/limits: ${key} is not in src/limits.ts`);
  if (/Ms(?:Max|Min|Default)?$/.test(key) && Number.isInteger(value)) return formatDuration(value);
  if (/Bytes(?:Max|Min|PerConnectionMax)?$/.test(key) && value >= 1_024) return formatBytes(value);
  return value.toLocaleString("en-US", { maximumFractionDigits: 6 });
}

export function limitsPage(): string {
  const known = Object.keys(TITLES);
  const files = globSync("*.ts", { cwd: folder, exclude: ["*.test.ts"] })
    .map((file) => file.replace(".ts", ""))
    .sort((a, b) => (known.indexOf(a) + 1 || 99) - (known.indexOf(b) + 1 || 99));
  const page = [
    "# Limits",
    "<!-- Made from src/limits: UPDATE_REFERENCE=1 npx vitest run tests/tidy/reference.test.ts -->",
    "Every queue, message, retry and wait has a limit. Beyond one the server answers `exhausted` or `invalid_argument` ([errors](states.md#errors)), or does what the table says. There is no file of settings: limits that operators change are flags of `busbar up`, `busbar server` and `busbar agent` ([commands](cli.md)), and the values here are their defaults. The others are constants.",
    ...files.map(sectionOf),
    "",
  ].join("\n\n");
  const lost = Object.keys(limits).filter((key) => !page.includes(`\`${key}\``));
  if (lost.length > 0) throw new Error(`not shown: ${lost.join(", ")}; write one limit a line`);
  return page;
}
