import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  checkBounds,
  isDeeperJson,
  isLongerJson,
  JsonTooLarge,
  parseBoundedJson,
} from "./json-size.ts";

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
        const check = (): void => checkBounds(json, { jsonDepthMax: max });
        if (isDeeperJson(any, max)) expect(check).toThrow(/levels deep/);
        else check();
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

test("a text with more objects, lists and keys than the bound is rejected; items and strings do not count", () => {
  const bounds = { jsonDepthMax: 8, jsonPartsMax: 4 };
  const fits = ['{"a":1,"b":[1,2,3,4,5,6]}', '["[[[[,,,,::::",{}]', "[1,2,3,4,5,6,7]"];
  for (const text of fits) expect(parseBoundedJson(text, bounds)).toEqual(JSON.parse(text));
  for (const text of ['{"a":{"b":[]}}', "[[],[],[],[]]", '{"a":1,"b":2,"c":3,"d":4}']) {
    expect(() => parseBoundedJson(text, bounds)).toThrow(JsonTooLarge);
  }
});
