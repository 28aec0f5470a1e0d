import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Scalar } from "../metadata.ts";
import type { Condition } from "./request.ts";
import { describeRequirement, testOf } from "./requirement.ts";
import { compareVersions, isBetween, parseVersion, type Version } from "./version.ts";

const version = (text: string): Version => {
  const parsed = parseVersion(text);
  if (parsed === undefined) throw new Error(`${text} is not a version`);
  return parsed;
};
const sign = (one: string, other: string): number =>
  Math.sign(compareVersions(version(one), version(other)));

describe("versions", () => {
  const rows: readonly (readonly string[])[] = [
    // The example of semver.org.
    ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta", "1.0.0-beta.2"],
    ["1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.1.0", "2.0.0", "10.0.0"],
    ["1.0.0-1", "1.0.0-alpha", "1.0.0"],
    ["2.1.5-rc1", "2.1.5", "2.1.6", "2.2", "stable", "trunk", "head", "master", "main", "develop"],
    ["0.9", "1:0.1", "1:2.3~beta-1", "1:2.3~beta-2", "1:2.3-1", "1:2.3-2", "1:2.3.1", "2:0"],
    ["1.0rc1", "1.0", "1.0.1"],
    ["1.0.2", "1.0.2a", "1.0.2k", "1.0.2.1"],
    ["2024-01-15", "2024-02-01", "2024.3"],
    ["99999999999999999998", "99999999999999999999", "100000000000000000000"],
    ["9", "010", "11"],
  ];
  for (const row of rows) {
    test(row.join(" < "), () => {
      for (const [at, one] of row.entries()) {
        for (const [other, text] of row.entries()) {
          expect(sign(one, text), `${one} ? ${text}`).toBe(Math.sign(at - other));
        }
      }
    });
  }

  const equal = [
    ["1.2", "1.2.0"],
    ["v1.2.3", "1.2.3"],
    ["1.2.3+build5", "1.2.3+build6"],
    ["01.2", "1.02"],
    ["0:1.2", "1.2"],
  ];
  for (const [one = "", other = ""] of equal) {
    test(`${one} equals ${other}`, () => expect(sign(one, other)).toBe(0));
  }

  test("a text with neither a number nor a word is not a version", () => {
    for (const text of ["", "???", "-", "~", "1:"]) expect(parseVersion(text)).toBeUndefined();
  });

  const part = fc.constantFrom("0", "1", "2", "10", "a", "rc", "beta", "main", "-", ".", "~", "+");
  const anyVersion = fc
    .oneof(
      fc.array(part, { maxLength: 7 }).map((parts) => parts.join("")),
      fc.string(),
    )
    .map(parseVersion)
    .filter((parsed) => parsed !== undefined);

  test("the order is total: it has no cycles, and is antisymmetric", () => {
    fc.assert(
      fc.property(anyVersion, anyVersion, anyVersion, (a, b, c) => {
        expect(Math.sign(compareVersions(a, b)) + Math.sign(compareVersions(b, a))).toBe(0);
        expect(compareVersions(a, a)).toBe(0);
        if (compareVersions(a, b) <= 0 && compareVersions(b, c) <= 0) {
          expect(compareVersions(a, c)).toBeLessThanOrEqual(0);
        }
      }),
      { numRuns: 5_000 },
    );
  });

  const ranges: readonly [string, string | undefined, string | undefined, boolean][] = [
    ["0.7.1", "0.7.1", "0.7.5", true],
    ["0.7.5", "0.7.1", "0.7.5", true],
    ["0.7.6", "0.7.1", "0.7.5", false],
    ["0.5.2", "0.7.1", "0.7.5", false],
    ["0.7.5", undefined, "0.7", true],
    ["0.8.0", undefined, "0.7", false],
    ["0.70", undefined, "0.7", false],
    ["2.3-1", undefined, "2.3", true],
    ["2.3.1", undefined, "2.3-1", false],
    ["1:0.5", undefined, "0.7", false],
    ["1:0.7.1", undefined, "0.7", false],
    ["develop", "3.3", undefined, true],
    ["2.1.5-rc1", "2.1.5", undefined, false],
  ];
  for (const [text, min, max, expected] of ranges) {
    test(`${text} is ${expected ? "" : "not "}between ${min ?? "any"} and ${max ?? "any"}`, () => {
      const end = (at: string | undefined) => (at === undefined ? undefined : version(at));
      expect(isBetween(version(text), end(min), end(max))).toBe(expected);
    });
  }
});

const on = (fields: Readonly<Record<string, Scalar>>, ...conditions: Condition[]): boolean =>
  testOf({ subsystem: "s", conditions })(new Map(Object.entries(fields)));

describe("conditions", () => {
  const present: Condition = { kind: "present", field: "gpu" };
  const oneOf = (...values: string[]): Condition => ({ kind: "one-of", field: "type", values });
  const range = (min?: string, max?: string): Condition => ({
    kind: "version",
    field: "version",
    min,
    max,
  });
  const number = (
    comparison: (Condition & { kind: "number" })["comparison"],
    value: number,
    unit?: string,
  ): Condition => ({ kind: "number", field: "size", comparison, value, unit });

  const cases: readonly [string, Readonly<Record<string, Scalar>>, Condition, boolean][] = [
    ["a field that is there", { gpu: "" }, present, true],
    ["a field that is not", { cpu: 1 }, present, false],
    ["exactly", { type: "shm" }, oneOf("shm"), true],
    ["exactly, not nearly", { type: "shm2" }, oneOf("shm"), false],
    ["one of several", { type: "nvme" }, oneOf("shm", "nvme"), true],
    ["a number by its text", { type: 4 }, oneOf("4"), true],
    ["true by its text", { type: true }, oneOf("true"), true],
    ["none of none", { type: "x" }, oneOf(), false],
    ["a range", { version: "3.3.1" }, range("3.3", "3.4"), true],
    ["a version that is a number", { version: 3.5 }, range("3.3"), true],
    ["a field that is missing has no version", {}, range("0"), false],
    ["a range whose end is a typo admits nothing", { version: "1" }, range("?"), false],
    ["a constraint is no version", { version: "0.2" }, range("0.1 || 99"), false],
    ["a constraint is no upper end", { version: "0.2" }, range("0.1", ">=1"), false],
    ["at least", { size: 16 }, number(">=", 16), true],
    ["more than", { size: 16 }, number(">", 16), false],
    ["less than", { size: 15 }, number("<", 16), true],
    ["at most", { size: 16 }, number("<=", 16), true],
    ["not equal", { size: 15 }, number("!=", 16), true],
    ["equal, converted", { size: 1024, unit: "MiB" }, number("=", 1, "GiB"), true],
    ["GB is not GiB", { size: 1, unit: "GB" }, number(">=", 1, "GiB"), false],
    ["a unit within the text", { size: "2 TiB" }, number(">=", 2048, "GiB"), true],
    ["a number within a text", { size: "17" }, number(">=", 16), true],
    ["one without unit stands as it is", { size: 16 }, number(">=", 16, "GiB"), true],
    ["units of different things", { size: 16, unit: "watts" }, number(">=", 1, "GiB"), false],
    [
      "different things are not unequal either",
      { size: 1, unit: "W" },
      number("!=", 1, "B"),
      false,
    ],
    ["a text is no number", { size: "many" }, number("!=", 16), false],
    ["true is no number", { size: true }, number(">=", 0), false],
  ];
  for (const [name, fields, condition, expected] of cases) {
    test(`${name}: ${expected}`, () => expect(on(fields, condition)).toBe(expected));
  }

  test("all conditions must hold on the same vertex, in any order", () => {
    const both = [oneOf("package"), range("0.5")];
    expect(on({ type: "package", version: "0.6" }, ...both)).toBe(true);
    expect(on({ type: "package", version: "0.6" }, ...both.toReversed())).toBe(true);
    expect(on({ type: "package", version: "0.4" }, ...both)).toBe(false);
    expect(on({ type: "compiler", version: "0.6" }, ...both)).toBe(false);
  });

  test("are described in words", () => {
    const conditions = [oneOf("a", "b"), range("1", "2"), present, number(">=", 4, "GiB")];
    expect(describeRequirement({ subsystem: "spack", conditions })).toBe(
      "spack type=a|b, version 1 to 2, gpu, size >= 4 GiB",
    );
  });
});
