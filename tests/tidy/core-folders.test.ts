import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const core = fileURLToPath(new URL("../../src/core/", import.meta.url));

/**
 * Which folder of the core may import which. `types`: only types, which are gone when the core runs.
 * The scheduler has the records that it plans with and says what it needs of jobs; state makes and
 * changes them, and calls the scheduler.
 */
const mayImport: Readonly<Record<string, Readonly<Record<string, "all" | "types">>>> = {
  access: { model: "all" },
  select: { graph: "types" },
  // One layer: graphs are made of what nodes have, and jobs ask for parts of graphs.
  graph: { model: "all" },
  model: { graph: "all", select: "all" },
  jobspec: { graph: "all", model: "all" },
  scheduler: { select: "all", graph: "all", model: "all" },
  state: { scheduler: "all", graph: "all", model: "all", access: "all" },
};

interface Import {
  readonly from: string;
  readonly to: string;
  readonly isType: boolean;
}

const files = readdirSync(core, { recursive: true, encoding: "utf8" }).filter(
  (name) => name.endsWith(".ts") && !/\.test\.ts$|\/testing\//.test(name),
);

/** Of one file to others of the core. */
function importsOf(from: string): Import[] {
  const text = readFileSync(join(core, from), "utf8");
  const pattern = /(?:^|\n)\s*(?:import|export)\s+(type\s+)?([^;'"]*?)from\s*"(\.[^"]+)"/g;
  return [...text.matchAll(pattern)].flatMap(([, type, names = "", target = ""]) => {
    const to = normalize(join(dirname(from), target));
    if (to.startsWith("..")) return [];
    const named = names.replaceAll(/[{}\s]+/g, " ").split(",");
    const isType = type !== undefined || named.every((name) => /^\s*(?:type\s|$)/.test(name));
    return [{ from, to, isType }];
  });
}

const imports = files.flatMap(importsOf);
const folderOf = (path: string): string => path.split("/", 1)[0] ?? "";

test("folders of the core import only what the table in ARCHITECTURE.md allows", () => {
  const wrong = imports.flatMap(({ from, to, isType }) => {
    const [own, other] = [folderOf(from), folderOf(to)];
    if (own === other) return [];
    const allowed = mayImport[own]?.[other];
    if (allowed === "all" || (allowed === "types" && isType)) return [];
    const what = allowed === "types" ? "more than types" : "anything";
    return [`core/${from} imports core/${to}: ${own} may not import ${what} of ${other}`];
  });
  expect(wrong).toEqual([]);
});

test("no file of the core imports itself in a circle, apart from types", () => {
  const targets = new Map<string, string[]>();
  for (const { from, to, isType } of imports) {
    if (!isType) targets.set(from, [...(targets.get(from) ?? []), to]);
  }
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(" > "));
    if (done.has(file)) return;
    done.add(file);
    for (const to of targets.get(file) ?? []) visit(to, [...path, file]);
  };
  for (const file of files) visit(file, []);
  expect(circles).toEqual([]);
});
