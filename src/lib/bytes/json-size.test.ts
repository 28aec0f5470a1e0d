import { expect, test } from "vitest";
import { isLongerJson } from "./json-size.ts";

test("a value is longer than a limit when its JSON is", () => {
  for (const value of ["abc", 12, true, null, ["a", 1, [2]], { a: { b: "c" }, d: [1] }]) {
    const { length } = JSON.stringify(value);
    expect(isLongerJson(value, length)).toBe(false);
    expect(isLongerJson(value, length - 1)).toBe(true);
  }
});

test("what is far too long is not looked at to its end", () => {
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
