import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseYamlTree, positionAt, toPlain } from "./yaml-tree.ts";

const bounds = { charsMax: 10_000_000, depthMax: 50, valuesMax: 10_000 };
const parse = (text: string) => parseYamlTree(text, bounds);

const valueOf = (text: string): unknown => {
  const parsed = parse(text);
  return parsed.kind === "tree" ? toPlain(parsed.tree) : parsed;
};

test("yes, no, y and n are texts, unlike in YAML 1.1", () => {
  const text =
    "y: n\nyes: no\non: off\nt: true\nnumber: 1.5\nnothing:\nmode: 0x10\n1: one\n<<: two";
  expect(valueOf(text)).toEqual({
    y: "n",
    yes: "no",
    on: "off",
    t: true,
    number: 1.5,
    nothing: null,
    mode: 16,
    1: "one",
    "<<": "two",
  });
});

test("finds the position of a path, or of the nearest value above it", () => {
  const parsed = parse("- a: 1\n  b:\n  - x\n  - y\n");
  if (parsed.kind === "broken") throw new Error(parsed.message);
  const at = (path: string): string => {
    const { line, column } = positionAt(parsed.tree, path);
    return `${line}:${column}`;
  };
  expect(["", "[0]", "[0].a", "[0].b[1]", "[0].c", "[7].a", "[0].a.z"].map(at)).toEqual(
    ["1:1", "1:3", "1:6", "4:5", "1:3", "1:1", "1:6"], // a missing value is reported where it would be
  );
});

test("every value has its position and its original text", () => {
  const parsed = parse("a:\n  - 1.20\n  - {b: 'x'}\n");
  expect(parsed).toEqual({
    kind: "tree",
    tree: {
      kind: "map",
      at: { line: 1, column: 1 },
      entries: [
        {
          key: "a",
          at: { line: 1, column: 1 },
          value: {
            kind: "list",
            at: { line: 2, column: 3 },
            items: [
              { kind: "scalar", at: { line: 2, column: 5 }, value: 1.2, source: "1.20" },
              {
                kind: "map",
                at: { line: 3, column: 5 },
                entries: [
                  {
                    key: "b",
                    at: { line: 3, column: 6 },
                    value: { kind: "scalar", at: { line: 3, column: 9 }, value: "x", source: "x" },
                  },
                ],
              },
            ],
          },
        },
      ],
    },
  });
});

test("an alias has the value that it names, at the position of the alias", () => {
  const parsed = parse("a: &x [1]\nb: *x");
  expect(parsed.kind === "tree" && parsed.tree.kind === "map" && parsed.tree.entries[1]).toEqual({
    key: "b",
    at: { line: 2, column: 1 },
    value: {
      kind: "list",
      at: { line: 2, column: 4 },
      items: [{ kind: "scalar", at: { line: 1, column: 8 }, value: 1, source: "1" }],
    },
  });
});

test("an alias means the last value above with its name; many cost little", () => {
  const text = `a: &x [1]\nb: *x\nc: &x [2]\nd: *x\ne: &y [*x]\nf: *y`;
  expect(valueOf(text)).toEqual({ a: [1], b: [1], c: [2], d: [2], e: [[2]], f: [[2]] });
  expect(valueOf(`- &x 1\n${"- *x\n".repeat(9_000)}`)).toHaveLength(9_001);
});

describe("a problem is reported with its position", () => {
  const bomb = Array.from(
    { length: 20 },
    (_, level) => `a${level + 1}: &a${level + 1} [${`*a${level},`.repeat(10)}]\n`,
  ).join("");
  const cases: readonly [string, string, number, RegExp][] = [
    ["broken", "a: [x", 1, /./],
    ["empty", "# nothing", 1, /is empty/],
    ["two documents", "a: 1\n---\nb: 1", 3, /a second document/],
    ["a key twice", "a: 1\na: 2", 2, /^the key "a" is there twice; keep one of them$/],
    ["a key that is a list", "a: 1\n? [b]\n: 1", 2, /a key must be a text/],
    ["an alias of nothing", "a: *x\nb: &x 1", 1, /nothing above is named &x/],
    ["deep brackets", "[".repeat(1_000_000), 1, /is nested more than 50 deep/],
    [
      "deep indentation",
      Array.from({ length: 60 }, (_, at) => `${" ".repeat(at)}a:\n`).join(""),
      51,
      /nested more than 50 deep/,
    ],
    ["an alias in itself", "a: &a [*a]", 1, /nested more than 50 deep/],
    ["a bomb of aliases", `a0: &a0 [1]\n${bomb}`, 1, /more than 10000 values/],
    ["too much text", "#".repeat(10_000_001), 1, /has 10000001 characters; at most 10000000/],
  ];
  for (const [name, text, line, want] of cases) {
    test(name, () => {
      const parsed = parse(text);
      expect(parsed).toMatchObject({ kind: "broken", message: expect.stringMatching(want) });
      if (parsed.kind === "broken" && name !== "a bomb of aliases") {
        expect(parsed.at.line).toBe(line);
      }
    });
  }
});

test("aliases of a long text expand to at most four times the largest text that may be sent", () => {
  const small = { ...bounds, charsMax: 1_000 };
  const aliasesOf = (count: number): string => `- &a ${"x".repeat(500)}\n${"- *a\n".repeat(count)}`;
  expect(parseYamlTree(aliasesOf(7), small)).toMatchObject({ kind: "tree" }); // 8 × 500
  expect(parseYamlTree(aliasesOf(8), small)).toEqual({
    kind: "broken",
    at: { line: 9, column: 3 },
    message: "more than 4000 characters, with aliases",
  });
});

test("JSON is parsed as JSON", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), (value) => {
      fc.pre(Object.keys(value).length > 0);
      const text = JSON.stringify(value);
      expect(JSON.stringify(valueOf(text))).toBe(text);
    }),
  );
});

test("no text makes it throw", () => {
  const piece = fc.constantFrom(
    ..."a: b,[]{}&*x!|>-? \n\t'\"#%".split(""),
    "- ",
    "*x ",
    "&x ",
    "!!set",
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      expect(["tree", "broken"]).toContain(parse(pieces.join("")).kind);
    }),
    { numRuns: 2_000 },
  );
});
