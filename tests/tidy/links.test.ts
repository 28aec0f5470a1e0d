import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

// Links between pages: their files and their headings.

const root = fileURLToPath(new URL("../../", import.meta.url));
const pages = globSync("{*.md,docs/**/*.md,src/**/*.md,examples/**/*.md,tests/**/*.md}", {
  cwd: root,
});

const LINK = /\]\((?!https?:|mailto:)([^)\s]+)\)/g;

/** As GitHub makes it of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(/\s/g, "-");

function anchorsOf(page: string): ReadonlySet<string> {
  const text = readFileSync(page, "utf8").replaceAll(/```[\s\S]*?```/g, "");
  return new Set(
    [...text.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = ""]) => anchorOf(heading)),
  );
}

function brokenLinks(page: string): readonly string[] {
  const text = readFileSync(join(root, page), "utf8").replaceAll(/```[\s\S]*?```/g, "");
  return [...text.matchAll(LINK)]
    .map(([, target = ""]) => target)
    .filter((target) => {
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? join(root, page) : join(root, dirname(page), path);
      if (!existsSync(file)) return true;
      return anchor !== undefined && file.endsWith(".md") && !anchorsOf(file).has(anchor);
    });
}

test.each(pages)("every link of %s leads somewhere", (page) => {
  expect(brokenLinks(page)).toEqual([]);
});

test("every page of docs is reached from docs/README.md or another page", () => {
  const linked = new Set(
    pages.flatMap((page) => {
      const text = readFileSync(join(root, page), "utf8");
      const targets = [...text.matchAll(LINK)].map(([, target = ""]) => target.split("#")[0] ?? "");
      return targets.map((target) => join(dirname(page), target));
    }),
  );
  const lost = pages.filter((page) => page.startsWith("docs/") && !linked.has(page));
  expect(lost).toEqual(["docs/README.md"].filter((page) => !linked.has(page)));
});
