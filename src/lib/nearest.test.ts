import { expect, test } from "vitest";
import { nearest } from "./nearest.ts";

const known = ["timeLimit", "killGrace", "command", "cwd"];

test("a typo or wrong case is recognised", () => {
  expect(nearest("timelimit", known)).toBe("timeLimit");
  expect(nearest("comand", known)).toBe("command");
  expect(nearest("killgrade", known)).toBe("killGrace");
  expect(nearest("drian", ["show", "drain", "undrain"])).toBe("drain");
});

test("nothing is suggested for a word unlike all others", () => {
  expect(nearest("banana", known)).toBeUndefined();
  expect(nearest("", known)).toBeUndefined();
});

test("a very long word costs little", () => {
  expect(nearest("x".repeat(1_000_000), known)).toBeUndefined();
});
