import * as fc from "fast-check";
import { expect, test } from "vitest";
import { excessOf, isDeeperJson, isLongerJson, parseBoundedJson } from "./json-size.ts";

test("a value is longer than a limit when its JSON is", () => {
  for (const value of ["abc", 12, true, null, ["a", 1, [2]], { a: { b: "c" }, d: [1] }]) {
    const { length } = JSON.stringify(value);
    expect(isLongerJson(value, length)).toBe(false);
    expect(isLongerJson(value, length - 1)).toBe(true);
  }
});

test("a value far beyond the limit is not read to its end", () => {
  let reads = 0;
  const items = new Proxy(
    Array.from({ length: 100_000 }, () => "abc"),
    {
      get: (all, key) => (reads++, Reflect.get(all, key) as unknown),
    },
  );
  expect(isLongerJson(items, 100)).toBe(true);
  expect(reads).toBeLessThan(200);
});

test("a text is deeper than a limit when its value is, whatever its strings contain", () => {
  const text = fc.oneof(fc.string(), fc.constantFrom('"', "\\", '\\"', "[[[[", "{]", '"['));
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 6 },
      text,
      fc.integer(),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.dictionary(text, tie("value"), { maxKeys: 3 }),
    ),
  }));
  fc.assert(
    fc.property(
      value,
      fc.integer({ min: 0, max: 8 }),
      fc.constantFrom(0, 2),
      (any, max, spaces) => {
        const json = JSON.stringify(any, null, spaces);
        expect(excessOf(json, { jsonDepthMax: max }) !== undefined).toBe(isDeeperJson(any, max));
      },
    ),
  );
});

test("a deep text is rejected, other texts are parsed", () => {
  const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels);
  const bounds = { jsonDepthMax: 8 };
  expect(parseBoundedJson(nested(8), bounds)).toEqual(JSON.parse(nested(8)));
  expect(() => parseBoundedJson(nested(9), bounds)).toThrow(/more than 8 levels deep/);
  expect(() => parseBoundedJson("[".repeat(2_000_000), bounds)).toThrow(/more than 8 levels deep/);
  expect(() => parseBoundedJson('{"a', bounds)).toThrow(SyntaxError);
});

test("a text with more marks than the bound is rejected; marks inside strings do not count", () => {
  const bounds = { jsonDepthMax: 8, jsonMarksMax: 7 };
  expect(parseBoundedJson('{"a":1,"b":[]}', bounds)).toEqual({ a: 1, b: [] });
  expect(() => parseBoundedJson('{"a":1,"b":[1,2]}', bounds)).toThrow(/more than 7 brackets/);
  expect(parseBoundedJson('["[[[[,,,,::::"]', bounds)).toEqual(["[[[[,,,,::::"]);
});
