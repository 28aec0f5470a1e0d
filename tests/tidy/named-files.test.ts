import { existsSync, globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../../", import.meta.url));
const files = globSync("{src,tests,bench,native,proto,docs}/**/*", { cwd: root });
const known = new Set(files);

/** Made by commands, and not in the repository. */
const MADE = new Set(["bench/results"]);
/** `src/<door>/`, `tests/*`: forms of names. */
const isForm = (name: string): boolean => /[<>*{}$…]/.test(name);

/** Names in backquotes, and what links point to in running text. */
function namedIn(text: string): string[] {
  const quoted = [...text.matchAll(/`([\w./<>*{}…-]+)`/g)].map(([, name = ""]) => name);
  const bare = [...text.matchAll(/(?<![\w./-])((?:src|docs|tests)\/[\w./-]+\.(?:ts|md|proto))/g)];
  return [...quoted, ...bare.map(([, name = ""]) => name)].filter((name) => !isForm(name));
}

const pages = globSync("{*.md,docs/**/*.md}", { cwd: root });

test.each(pages)("every file that %s names exists", (page) => {
  const text = readFileSync(`${root}${page}`, "utf8");
  const lost = namedIn(text).filter((name) => {
    if (!/^(?:src|tests|bench|native|proto|docs)\//.test(name)) return false;
    const path = name.replace(/\/$/, "");
    return !known.has(path) && !MADE.has(path) && !existsSync(`${root}${path}`);
  });
  expect(lost).toEqual([]);
});

test("every short name of a file in ARCHITECTURE.md is the end of a path", () => {
  const names = namedIn(readFileSync(`${root}ARCHITECTURE.md`, "utf8"));
  const short = names.filter((name) => /^[\w/-]+\.ts$/.test(name) && !known.has(name));
  expect(short.length).toBeGreaterThan(3);
  const lost = short.filter((name) => !files.some((file) => file.endsWith(`/${name}`)));
  expect(lost).toEqual([]);
});
