import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

// Plain language (docs/glossary.md): phrases that hide who does what, each with the better ones. They are out in pages, in the texts of
// the schema and in texts that the program prints.

const root = fileURLToPath(new URL("../../", import.meta.url));

const OUT: readonly (readonly [RegExp, string])[] = [
  [/\b(?:is|are|was|were) told\b/i, "name who sends it: notify, report, send, publish, answer"],
  [/\b(?:is|are) handed\b/i, "pass, submit, assign"],
  [/\bclusters? that pulls?\b/i, "pull cluster"],
  [/\bhanded on\b/i, "passed on"],
  [/\bturned away\b/i, "refused (a peer), rejected (a request)"],
  [/\bspeaks? for\b/i, "is the agent of, runs, serves"],
  [/\bwho asks\b/i, "the caller, the client"],
  [/\bcould ever\b|\bthere is could\b/i, "unsatisfiable; no registered node or cluster can run it"],
];

function wrongWords(text: string, place: string): readonly string[] {
  return OUT.flatMap(([pattern, better]) => {
    const [found] = pattern.exec(text) ?? [];
    return found === undefined ? [] : [`${place}: "${found}": say instead: ${better}`];
  });
}

const pages = globSync("{*.md,docs/**/*.md,examples/**/*.md,proto/busbar/v1/*.proto}", {
  cwd: root,
}).filter((page) => page !== "docs/glossary.md" && page !== "CHANGELOG.md");

test.each(pages)("%s has plain words", (page) => {
  const lines = readFileSync(root + page, "utf8").split("\n");
  const wrong = lines.flatMap((line, at) => wrongWords(line, `${page}:${at + 1}`));
  expect(wrong).toEqual([]);
});

test("texts that the program prints have plain words", () => {
  const files = globSync("src/**/*.ts", { cwd: root }).filter(
    (file) => !/\.test\.ts$|\/testing\/|^src\/(?:testing|gen)\//.test(file),
  );
  expect(files.length).toBeGreaterThan(500);
  const wrong = files.flatMap((file) => {
    const lines = readFileSync(root + file, "utf8").split("\n");
    return lines.flatMap((line, at) => {
      if (/^\s*(?:\*|\/\/|\/\*)/.test(line)) return [];
      return wrongWords(line.replace(/\s\/\/.*$/, ""), `${file}:${at + 1}`);
    });
  });
  expect(wrong).toEqual([]);
});
