import { describe, expect, test } from "vitest";
import { flattenTasks } from "./flatten.ts";
import { parseJobspec } from "./read/parse.ts";

describe("flattened groups", () => {
  /** All dependencies of each task, transitive ones included. */
  const closure = (text: string): ReadonlyMap<string, ReadonlySet<string>> => {
    const all = new Map<string, Set<string>>();
    for (const { task, dependsOn } of flattenTasks(parseJobspec(text))) {
      const before = new Set(dependsOn.flatMap((path) => [path, ...(all.get(path) ?? [])]));
      expect([...dependsOn].every((path) => all.has(path))).toBe(true); // in order
      all.set(task.path, before);
    }
    return all;
  };

  test("a nested group depends on others, and others on it, as a whole", () => {
    const after = closure(`version: 1
resources: {r: {type: node, count: 1}}
tasks:
- {name: last, command: [x], resources: r, depends_on: [g]}
- {name: first, command: [x], resources: r}
groups:
- name: g
  resources: r
  depends_on: [first]
  tasks:
  - {name: a, command: [x]}
  - {name: b, command: [x], depends_on: [a]}
  - {group: h, depends_on: [a]}
- name: h
  tasks: [{name: c, command: [x]}, {name: d, command: [x], depends_on: [c]}]`);
    const sets = Object.fromEntries([...after].map(([path, before]) => [path, [...before].sort()]));
    expect(sets).toEqual({
      first: [],
      "g/a": ["first"],
      "g/b": ["first", "g/a"],
      "g/h/c": ["first", "g/a"],
      "g/h/d": ["first", "g/a", "g/h/c"],
      last: ["first", "g/a", "g/b", "g/h/c", "g/h/d"],
    });
  });

  test("only the first tasks of a group have the dependencies of the group", () => {
    const flat = flattenTasks(
      parseJobspec(`version: 1
resources: {r: {type: node, count: 1}}
tasks: [{name: x, command: [x], resources: r}]
groups: [{name: g, resources: r, depends_on: [x], tasks: [{name: a, command: [x]}, {name: b, command: [x], depends_on: [a]}]}]`),
    );
    expect(flat.map(({ task, dependsOn }) => [task.path, dependsOn])).toEqual([
      ["x", []],
      ["g/a", ["x"]],
      ["g/b", ["g/a"]],
    ]);
  });

  test("ten thousand edges are accepted, a million are rejected", () => {
    const text = (size: number) => `version: 1
resources: {r: {type: node, count: 1}}
groups:
- {name: g, resources: r, tasks: [${"{command: [x]},".repeat(size)}]}
- {name: h, resources: r, depends_on: [g], tasks: [${"{command: [x]},".repeat(size)}]}`;
    expect(flattenTasks(parseJobspec(text(100))).at(-1)?.dependsOn).toHaveLength(100);
    expect(() => flattenTasks(parseJobspec(text(1_000)))).toThrow(/more than 100000 dependencies/);
  });
});
