import { globSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

// Plain language (docs/glossary.md): phrases that hide who does what, each with better ones. No page, text of the schema, printed text or
// comment of the source may use them.

const root = fileURLToPath(new URL("../../", import.meta.url));

const OUT: readonly (readonly [RegExp, string])[] = [
  [
    /\b(?:is|are|was|were) told\b(?! apart)/i,
    "name who sends it: notify, report, send, publish, answer",
  ],
  [/\b(?:is|are) handed\b/i, "pass, submit, assign"],
  [/\bclusters? that pulls?\b/i, "pull cluster"],
  [/\bhanded on\b/i, "passed on"],
  [/\bturned away\b/i, "refused (a peer), rejected (a request)"],
  [/\bspeaks? for\b/i, "is the agent of, runs, serves"],
  [/\bwho asks\b/i, "the caller, the client"],
  [/\bspoken for\b/i, "has an agent for the whole cluster"],
  [/\b(?:has|have) told\b|\btold nothing\b/i, "reported, has not reported"],
  [/\b(?:gave it|gives? it|given) back\b/i, "returned"],
  [/\bto be had\b/i, "accepted, available"],
  [/\bsays? of itself\b/i, "the state of the cluster, reports"],
  [/\bwhat there is\b|\bis no more\b(?! yet)/i, "name the noun; removed, deleted"],
  [/\bas (?:it|they) likes?\b/i, "no limit"],
  [/\bis none of\b/i, "is not one of"],
  [/\bwhat became of\b/i, "the state, the result of"],
  [/\bsomeone else\b|\bnobody's\b/i, "another principal; not owned"],
  [/\bnonsense\b/i, "an invalid message"],
  [/\bas many \w+ as (?:it|they) may\b/i, "is at its limit of N"],
  [/\bcould ever\b|\bthere is could\b/i, "unsatisfiable; no registered node or cluster can run it"],
  [/\b(?:is|are|was|were) got\b/i, "read, received, accepted"],
  [/\bnobody's\b/i, "say whose it is not, or that it has no owner"],
  [/\bthat which\b/i, "name the noun"],
  [/\bspoken for\b/i, "has an agent, is assigned"],
];

/** Out in comments, too. */
const OUT_OF_COMMENTS: typeof OUT = [
  ...OUT,
  [/\bwhat there is\b/i, "name it: the registered nodes, the stored rows, the free capacity"],
  [/\bwhat becomes of\b/i, "the outcome of"],
  [/\bwho (?:calls|gets|takes|waits|looks)\b/i, "the caller, the client, the job, the cluster"],
  [/\bby (?:its|their) own doing\b/i, "by its own fault"],
];

function wrongWords(text: string, place: string, out = OUT): readonly string[] {
  return out.flatMap(([pattern, better]) => {
    const [found] = pattern.exec(text) ?? [];
    return found === undefined ? [] : [`${place}: "${found}": say instead: ${better}`];
  });
}

const pages = globSync(
  "{*.md,docs/**/*.md,examples/**/*.md,src/**/*.md,tests/**/*.md,proto/busbar/v1/*.proto}",
  {
    cwd: root,
  },
).filter((page) => page !== "docs/glossary.md");

test.each(pages)("%s has plain words", (page) => {
  const lines = readFileSync(root + page, "utf8").split("\n");
  const wrong = lines.flatMap((line, at) => wrongWords(line, `${page}:${at + 1}`));
  expect(wrong).toEqual([]);
});

test("comments of the source have plain words", () => {
  const files = globSync("src/**/*.ts", { cwd: root, exclude: ["src/gen/**"] });
  expect(files.length).toBeGreaterThan(500);
  const wrong = files.flatMap((file) => {
    const lines = readFileSync(root + file, "utf8").split("\n");
    return lines.flatMap((line, at) => {
      const [comment] = /^\s*(?:\*|\/\/|\/\*).*|\s\/\/\s.*$/.exec(line) ?? [];
      return comment === undefined ? [] : wrongWords(comment, `${file}:${at + 1}`, OUT_OF_COMMENTS);
    });
  });
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
