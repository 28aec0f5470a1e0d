import { expect, test } from "vitest";
import { limits } from "../../../limits.ts";
import type { DependencyInput } from "./dependency.ts";
import { toDependencies } from "./dependency.ts";

test("the kind has a default, and an empty list means no dependency", () => {
  expect(toDependencies(undefined)).toBeUndefined();
  expect(toDependencies([])).toBeUndefined();
  expect(
    toDependencies([
      { on: ["a", "17.3"] },
      { kind: "after", on: ["b", "c"], atLeast: 1 },
      { kind: "singleton", name: "x" },
    ]),
  ).toEqual([
    { kind: "afterok", on: ["a", "17.3"] },
    { kind: "after", on: ["b", "c"], atLeast: 1 },
    { kind: "singleton", name: "x" },
  ]);
});

const many = (count: number): string[] => Array.from({ length: count }, () => "a");
const max = limits.dependenciesPerJobMax;

const refused: readonly [readonly DependencyInput[], string][] = [
  [
    [{ kind: "afterOK", on: ["a"] }],
    'dependsOn[0].kind: "afterOK" is not a kind of dependency; did',
  ],
  [[{ kind: "banana", on: ["a"] }], "use afterok, afterany, afternotok, after, singleton"],
  [[{ on: ["a"] }, {}], "dependsOn[1].on: must name at least one job"],
  [[{ on: [] }], "dependsOn[0].on: must name at least one job"],
  [[{ on: ["a", ""] }], "dependsOn[0].on[1]: must not be empty"],
  [[{ on: ["x".repeat(200)] }], "dependsOn[0].on[0]: must have at most 138"],
  [[{ on: ["a\0"] }], "dependsOn[0].on[0]: must be a text without NUL"],
  [[{ on: ["a"], name: "b" }], "dependsOn[0].name: only a singleton has a name"],
  [
    [{ on: ["a", "b"], atLeast: 0 }],
    "dependsOn[0].atLeast: must be a whole number from 1 to 2, not 0",
  ],
  [
    [{ on: ["a", "b"], atLeast: 3 }],
    "dependsOn[0].atLeast: must be a whole number from 1 to 2, not 3",
  ],
  [[{ on: ["a", "b"], atLeast: 1.5 }], "dependsOn[0].atLeast: must be a whole number"],
  [[{ kind: "singleton" }], "dependsOn[0].name: must not be empty"],
  [[{ kind: "singleton", name: "x", on: ["a"] }], "dependsOn[0].on: a singleton names no jobs"],
  [[{ kind: "singleton", name: "x", atLeast: 1 }], "dependsOn[0].atLeast: a singleton has none"],
  [
    [
      { kind: "singleton", name: "x" },
      { kind: "singleton", name: "x" },
    ],
    "dependsOn[1].name: appears twice",
  ],
  [[{ on: many(max + 1) }], `dependsOn[0].on: at most ${max} jobs`],
  [[{ on: many(max) }, { on: ["b"] }], `dependsOn: at most ${max} jobs`],
  [many(max + 1).map((name) => ({ on: [name] })), `dependsOn: at most ${max} jobs`],
];

for (const [inputs, says] of refused) {
  test(`refused: ${says}`, () => {
    expect(() => toDependencies(inputs)).toThrow(says);
  });
}
