import { expect, test } from "vitest";
import { RecentMap } from "./recent-map.ts";

test("a new entry replaces the one unused for longest", () => {
  const map = new RecentMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  expect([map.get("b"), map.get("a")]).toEqual([2, 1]);
  map.set("c", 3);
  expect(["a", "b", "c"].map((key) => map.get(key))).toEqual([1, undefined, 3]);
});

test("a second value of a key replaces the first, and no other entry", () => {
  const map = new RecentMap<string, number>(2);
  map.set("a", 1);
  map.set("b", 2);
  map.set("b", 3);
  expect([map.get("a"), map.get("b"), map.size]).toEqual([1, 3, 2]);
});
