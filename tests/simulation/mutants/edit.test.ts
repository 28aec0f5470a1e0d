import { describe, expect, test } from "vitest";
import type { Edit } from "./edit.ts";
import { applyEdits } from "./edit.ts";

const MODULE = `
export function first(a: number): number {
  // a comment
  if (a === 1) return two(a, "x");
  return a + 1;
}
export class Box {
  #put(a: number): void {
    this.count++;
    this.touch(a);
  }
  put(a: number): void {
    this.touch(a); this.touch(a);
  }
  get size() { return 1; }
}
const TABLE = { keep: (a: number) => a * 2 };
`;

const swap = (within: string, find: string, replace: string): Edit => ({
  kind: "swap",
  file: "box.ts",
  within,
  find,
  replace,
});

const made = (edit: Edit): string => {
  const edited = applyEdits(MODULE, [edit]);
  const lines = new Set(MODULE.split("\n"));
  return edited
    .split("\n")
    .filter((line) => !lines.has(line))
    .map((line) => line.trim())
    .join("\n");
};

describe("an edit", () => {
  test("finds an expression whatever its spaces, quotes, brackets and comments", () => {
    expect(made(swap("first", "(a) /* so */ ===\n1", "false"))).toBe(
      'if ((false)) return two(a, "x");',
    );
    expect(made(swap("first", "two( a, 'x', )", "3"))).toBe("if (a === 1) return (3);");
  });

  test("finds a statement, and statements that follow each other", () => {
    expect(made(swap("Box.#put", "this.touch(a);", ""))).toBe(";");
    expect(made(swap("Box.#put", "this.count++; this.touch(a);", "return;"))).toBe("return;");
  });

  test("takes $_ for any expression", () => {
    expect(made(swap("first", "two($_, $_)", "0"))).toBe("if (a === 1) return (0);");
  });

  test("replaces the body of a function, a method, an accessor, an arrow", () => {
    const bodyOf = (within: string) =>
      made({ kind: "body", file: "box.ts", within, replace: "return 7;" });
    expect(bodyOf("Box.size")).toBe("get size() { return 7; }");
    expect(bodyOf("TABLE.keep")).toBe("const TABLE = { keep: (a: number) => { return 7; } };");
    expect(bodyOf("first")).toBe("export function first(a: number): number { return 7; }");
  });

  test("says when its place is gone, or is there twice", () => {
    expect(() => made(swap("second", "a", "b"))).toThrow("box.ts has no second");
    expect(() => made(swap("first", "a === 2", "b"))).toThrow(
      "box.ts: first has 0 times, not once: a === 2",
    );
    expect(() => made(swap("Box.put", "this.touch(a);", ""))).toThrow(
      "box.ts: Box.put has 2 times, not once: this.touch(a);",
    );
  });

  test("must leave a module that can be parsed", () => {
    expect(() => made(swap("first", "a === 1", "}"))).toThrow("the edited module cannot be parsed");
  });
});
