import { execFileSync, spawnSync } from "node:child_process";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { joinShell, quoteShell, splitShell } from "./shell.ts";

/** The words that a real shell passes to a program. */
const wordsOf = (lines: readonly string[]): readonly string[] =>
  execFileSync("/bin/sh", { input: lines.map((line) => `printf '%s\\0' ${line}\n`).join("") })
    .toString("utf8")
    .split("\0")
    .slice(0, -1);

const word = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: fc.constantFrom(...Array.from("'\"\\$`!*?~#;&|<>(){}[] \n\t=-ab%^")) }),
);
const words = fc.array(
  word.filter((each) => !each.includes("\0") && each.isWellFormed()),
  { minLength: 1, maxLength: 8 },
);

describe("quoteShell", () => {
  test("a real shell returns every word unchanged", () => {
    fc.assert(
      fc.property(fc.array(words, { minLength: 20, maxLength: 20 }), (lines) => {
        expect(wordsOf(lines.map(joinShell))).toEqual(lines.flat()); // one shell for all words
      }),
      { numRuns: 15 },
    );
  });

  const cases: readonly [string, string][] = [
    ["plain", "plain"],
    ["--time=1:00,2", "--time=1:00,2"],
    ["", "''"],
    ["a b", "'a b'"],
    ["it's", `'it'\\''s'`],
    ["A=b", "'A=b'"],
    ["~", "'~'"],
    ["if", "'if'"],
  ];
  for (const [raw, want] of cases) {
    test(`${JSON.stringify(raw)} becomes ${want}`, () => expect(quoteShell(raw)).toBe(want));
  }

  test("a command may have the name of a keyword or look like an assignment", () => {
    for (const name of ["if", "while", "case", "done", "in", "time", "{", "!", "A=b", "_x1=2"]) {
      const { status, stderr } = spawnSync("/bin/sh", ["-c", joinShell([name, "x"])]);
      expect([name, status, stderr.toString()]).toEqual([name, 127, expect.stringMatching("not")]);
    }
  });
});

describe("splitShell", () => {
  test("splits the output of joinShell into the same words, as the shell does", () => {
    fc.assert(
      fc.property(words, (each) => {
        expect(splitShell(joinShell(each))).toEqual(each);
      }),
    );
  });

  const cases: readonly [string, readonly string[] | undefined][] = [
    ["", []],
    ["  a\tb\n c ", ["a", "b", "c"]],
    [`a'b c'd`, ["ab cd"]],
    [`"a 'b' \\" \\\\ \\n"`, [`a 'b' " \\ \\n`]],
    [`'' ""`, ["", ""]],
    [`a\\ b \\$c`, ["a b", "$c"]],
    ["echo $HOME | cat", ["echo", "$HOME", "|", "cat"]],
    ["'open", undefined],
    [`"open`, undefined],
    ["open\\", undefined],
  ];
  for (const [line, want] of cases) {
    test(JSON.stringify(line), () => expect(splitShell(line)).toEqual(want));
  }
});
