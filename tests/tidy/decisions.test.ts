import { globSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

// Each page of docs/design has a date, the decision below it, and what would change it; the list of pages names it.

const root = fileURLToPath(new URL("../../docs/design/", import.meta.url));
const list = readFileSync(`${root}README.md`, "utf8");
const SHAPE =
  /^# .+\n\nDecided: 20\d\d-[01]\d-[0-3]\d\n\n\S[\s\S]+\n## What would change our mind\n\n- [\s\S]+/;

test.each(globSync("*.md", { cwd: root, exclude: ["README.md"] }))("%s is a decision", (page) => {
  expect(readFileSync(root + page, "utf8")).toMatch(SHAPE);
  expect(list).toContain(`(${basename(page)})`);
});
