import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { limits } from "../../../limits.ts";
import { readResourceChoice } from "./read-request.ts";
import type { Condition, Requirement, ResourceRequest } from "./request.ts";
import { want } from "../testing/requests.ts";

describe("a choice of resources is read from JSON", () => {
  test("omitted fields have their defaults", () => {
    expect(readResourceChoice([[{ type: "node", with: [{ type: "core", count: 4 }] }]])).toEqual([
      [want(1, "node", [want(4, "core")])],
    ]);
  });

  const text = fc.string({ minLength: 1, maxLength: 8 });
  const optional = fc.option(text, { nil: undefined });
  const condition: fc.Arbitrary<Condition> = fc.oneof(
    fc.record({ kind: fc.constant("present" as const), field: text }),
    fc.record({
      kind: fc.constant("one-of" as const),
      field: text,
      values: fc.array(fc.string({ maxLength: 4 }), { minLength: 1, maxLength: 3 }),
    }),
    fc.record({ kind: fc.constant("version" as const), field: text, min: text, max: optional }),
    fc.record({
      kind: fc.constant("number" as const),
      field: text,
      comparison: fc.constantFrom("<", "<=", "=", "!=", ">=", ">" as const),
      value: fc.double({ noNaN: true, noDefaultInfinity: true }).map((each) => each || 0),
      unit: optional,
    }),
  );
  const requirement: fc.Arbitrary<Requirement> = fc.record({
    subsystem: text,
    conditions: fc.array(condition, { maxLength: 3 }),
  });
  const treeOf = (levels: number): fc.Arbitrary<ResourceRequest> =>
    fc.record({
      type: text,
      count: fc.integer({ min: 1, max: 9 }),
      unit: optional,
      isSlot: fc.boolean(),
      isExclusive: fc.boolean(),
      label: optional,
      requires: fc.array(requirement, { maxLength: 2 }),
      with: levels === 0 ? fc.constant([]) : fc.array(treeOf(levels - 1), { maxLength: 2 }),
    });

  test("a choice written as JSON is read back the same", () => {
    const trees = fc.array(treeOf(3), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.array(trees, { minLength: 1, maxLength: 3 }), (choice) => {
        expect(readResourceChoice(JSON.parse(JSON.stringify(choice)))).toEqual(choice);
      }),
    );
  });
});

const many = (length: number, value: unknown): unknown[] => Array.from({ length }, () => value);

describe("invalid input is rejected with its place", () => {
  const one = (fields: object): unknown => [[{ type: "node", ...fields }]];
  const io = (conditions: unknown): unknown => one({ requires: [{ subsystem: "io", conditions }] });
  const deep = (levels: number): object =>
    levels === 0 ? { type: "core" } : { type: "x", with: [deep(levels - 1)] };
  const cases: readonly [string, unknown, string][] = [
    ["no list", { type: "node" }, "resources: must be a list, not a object"],
    ["nothing", [], "resources: at least one alternative is needed"],
    ["trees without alternatives", [{ type: "node" }], "resources[0]: must be a list of trees"],
    ["no tree", [[]], "resources[0]: at least one tree is needed"],
    ["no object", [["node"]], "resources[0][0]: must be an object, not a string"],
    ["a misspelt key", one({ cuont: 2 }), '[0]: "cuont" is not known; did you mean count?'],
    ["a foreign key", one({ xyzzy: 2 }), '"xyzzy" is not known; known are type, count, unit'],
    ["no type", [[{ count: 1 }]], "[0][0].type: must be a text, not missing"],
    ["an empty type", [[{ type: "" }]], ".type: must not be empty"],
    ["a count as text", one({ count: "2" }), ".count: must be a number, not a string"],
    ["no number", one({ count: NaN }), ".count: must be a number"],
    ["a flag as number", one({ isSlot: 1 }), ".isSlot: must be true or false, not a number"],
    ["null", one({ unit: null }), ".unit: must be a text, not null"],
    ["a tree for a list", one({ with: { type: "core" } }), ".with: must be a list"],
    ["deep inside", one({ with: [{ type: "core", label: 1 }] }), ".with[0].label: must be a text"],
    ["a requirement without conditions", one({ requires: [{ subsystem: "io" }] }), ".conditions:"],
    ["no kind", io([{ field: "a" }]), ".conditions[0].kind: must be one of present, one-of"],
    ["a misspelt kind", io([{ kind: "one_of", field: "a" }]), "(did you mean one-of?)"],
    ["a key of another kind", io([{ kind: "present", field: "a", values: [] }]), '"values" is not'],
    ["no values", io([{ kind: "one-of", field: "a", values: [] }]), ".values: at least one"],
    ["a version of nothing", io([{ kind: "version", field: "a" }]), "needs min, max or both"],
    [
      "a comparison that is none",
      io([{ kind: "number", field: "a", comparison: "==", value: 1 }]),
      ".comparison: must be one of <, <=",
    ],
    ["too deep", [[deep(limits.requestDepthMax)]], "is nested more than"],
    ["too long", one({ label: "x".repeat(limits.graphTextLengthMax + 1) }), "at most 512 char"],
    ["too many ways", many(limits.requestAlternativesMax + 1, []), "at most 64, not 65"],
    [
      "too many things",
      one({ with: many(limits.requestVerticesMax, { type: "core" }) }),
      "at most 256 kinds of resources",
    ],
  ];
  for (const [name, value, message] of cases) {
    test(name, () => {
      const refused = (): unknown => readResourceChoice(value);
      expect(refused).toThrow(expect.objectContaining({ code: "invalid_argument" }));
      expect(refused).toThrow(message);
    });
  }

  test("each alternative has its own limit", () => {
    const half = many(limits.requestVerticesMax, { type: "core" });
    expect(readResourceChoice([half, half])).toHaveLength(2);
  });
});
