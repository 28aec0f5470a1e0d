import { expect, test } from "vitest";
import { parseYamlTree } from "./yaml-tree.ts";

/** Texts with a mistake in their YAML, where it is, and the message about it. */
const cases: readonly (readonly [string, string, string, string])[] = [
  ["an open list", "name: a\ncommand: [true\nenv: {A: b}\n", "3:1", 'a "[" above is not closed'],
  ["an open map", "env: {A: b\nname: a\n", "2:1", 'a "{" above is not closed'],
  ["too far right", "name: a\n  command: x\n", "1:7", "two keys in one line"],
  ["two keys in one line", "name: a: b\n", "1:7", 'put "..." around a value that has ": " in it'],
  ["a tab", "name: a\n\tcommand: x\n", "2:1", "is indented with a tab; use blanks"],
  ["a tab in an item", "- name: a\n\tcommand: [x]\n", "2:1", "is indented with a tab; use blanks"],
  ["another mistake after a tab", '{\n\t"a": 1 : 2}', "2:7", "inside [ ] or { } write items"],
  ["an open quote", 'name: "a\ncommand: x\n', "3:1", "a quote that was opened above is not closed"],
  ["closed twice", "command: [true]]\n", "1:16", '"]" is not expected here; is one closed twice?'],
  ["a reserved sign", "name: @a\n", "1:7", 'a text that begins with "@" needs quotes around it'],
  ["an item among keys", "name: a\n- b\n", "2:1", 'is neither "key: value" nor a further line'],
  ["other columns", "a:\n    b: 1\n  c: 2\n", "3:1", "is indented differently from its neighbours"],
  ["a comma too many", "a: [1,,2]\n", "1:7", '"," too many'],
  ["a key twice", "name: a\nname: b\n", "2:1", 'the key "name" is there twice; keep one of them'],
  ["a version", "%YAML 9\n---\na: 1\n", "1:7", "is no version of YAML; leave the line out"],
  ["a backslash", 'a: "\\d"\n', "1:5", '"\\d" means nothing between double quotes'],
  ["a second value", '{"a": 1}\n{', "2:1", '"{" is not expected here, after the end of a value'],
];

for (const [what, text, at, words] of cases) {
  test(`${what} is reported in plain words`, () => {
    const parsed = parseYamlTree(text, { charsMax: 1_000, depthMax: 10, valuesMax: 100 });
    if (parsed.kind !== "broken") throw new Error("was read");
    expect(`${parsed.at.line}:${parsed.at.column}: ${parsed.message}`).toContain(`${at}: `);
    expect(parsed.message).toContain(words);
    expect(parsed.message).not.toMatch(
      /implicit|flow|scalar|sequence|mapping|map keys|token|node end/i,
    );
  });
}
