import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { limits } from "../../limits.ts";
import type { StateValues } from "../graph/cluster-state.ts";
import { toJobSpec } from "../model/job/job-spec.ts";
import { strategyByName, strategyNames } from "./all.ts";
import { PreparedSelects } from "./prepared-selects.ts";
import { parsePriorities } from "./priorities.ts";
import type { Candidate, SelectContext, Selection } from "./strategy.ts";

const candidate = (name: string, state: StateValues = {}, more: Partial<Candidate> = {}) => ({
  name,
  state,
  jobs: 0,
  usedShare: undefined,
  slots: undefined,
  ...more,
});
const context = (more: Partial<SelectContext> = {}): SelectContext => ({
  parameters: {},
  random: () => 0,
  turn: 0,
  ...more,
});
const select = (
  strategy: string,
  candidates: readonly Candidate[],
  options: Readonly<Record<string, unknown>> = {},
  more: Partial<SelectContext> = {},
): Selection => strategyByName(strategy).prepare(options)(candidates, context(more));
const ranked = (...args: Parameters<typeof select>) =>
  select(...args).ranked.map(({ name }) => name);

const load = (name: string, jobs: number, usedShare?: number, slots?: number) =>
  candidate(name, {}, { jobs, usedShare, slots });
const clusters = [load("c", 5, 0.5, 2), load("a", 9, 0.9, 1), load("b", 1, 0.1, 9), load("d", 0)];

describe("strategies", () => {
  const cases: readonly [string, readonly string[]][] = [
    ["first", ["c", "a", "b", "d"]],
    ["least-loaded", ["d", "b", "c", "a"]],
    ["binpack", ["a", "c", "b", "d"]],
    ["spread", ["b", "c", "a", "d"]],
    ["cheapest", ["a", "b", "c", "d"]],
    ["random", ["a", "b", "c", "d"]],
    ["round-robin", ["a", "b", "c", "d"]],
  ];
  for (const [name, expected] of cases) {
    test(`${name}: ${expected.join(", ")}`, () => expect(ranked(name, clusters)).toEqual(expected));
  }

  test("round-robin continues after the last choice", () => {
    const chosen = [0, 1, 2, 3, 4].map((turn) => ranked("round-robin", clusters, {}, { turn })[0]);
    expect(chosen).toEqual(["a", "b", "c", "d", "a"]);
    expect(ranked("round-robin", [], {}, { turn: 3 })).toEqual([]);
  });

  test("random follows the random numbers", () => {
    const chosen = [0, 0.25, 0.5, 0.999, 1].map(
      (dice) => ranked("random", clusters, {}, { random: () => dice })[0],
    );
    expect(chosen).toEqual(["a", "b", "c", "d", "d"]);
    expect(ranked("random", [])).toEqual([]);
  });

  test("cheapest and most-power rank by reported state; clusters without it come last", () => {
    const told = [
      candidate("a", { cost_per_node_hour: 3, power: 10, watts: 1 }),
      candidate("b", { cost_per_node_hour: 1, power: 30, watts: 2 }),
      candidate("c", { cost_per_node_hour: "cheap" }),
    ];
    expect(ranked("cheapest", told)).toEqual(["b", "a", "c"]);
    expect(ranked("most-power", told)).toEqual(["b", "a", "c"]);
    expect(ranked("most-power", told, { key: "watts" })).toEqual(["b", "a", "c"]);
    expect(() => select("cheapest", told, { key: 3 })).toThrow(/options.key/);
  });

  test("do not depend on the order in which clusters are given", () => {
    const anyLoads = fc.uniqueArray(
      fc.record({
        name: fc.constantFrom("a", "b", "c", "d", "e"),
        jobs: fc.nat(2),
        usedShare: fc.option(fc.constantFrom(0, 0.5, 1), { nil: undefined }),
        slots: fc.option(fc.nat(2), { nil: undefined }),
        state: fc.record({ cost_per_node_hour: fc.nat(2), power: fc.nat(2) }),
      }),
      { selector: ({ name }) => name },
    );
    const names = strategyNames.filter((name) => name !== "first" && name !== "constraint");
    fc.assert(
      fc.property(anyLoads, fc.constantFrom(...names), fc.nat(9), (all, name, turn) => {
        const more = { turn, random: () => turn / 10 };
        expect(ranked(name, all.toReversed(), {}, more)).toEqual(ranked(name, all, {}, more));
        expect(ranked(name, all, {}, more).sort()).toEqual(all.map((each) => each.name).sort());
      }),
    );
  });

  test("an unknown one is rejected, with a suggestion", () => {
    expect(() => strategyByName("randm")).toThrow(/did you mean random\?/);
    expect(() => strategyByName("zzzzzzz")).toThrow(/there are random, first/);
  });
});

describe("constraint", () => {
  const state = { cost_per_node_hour: 3, nodes_free: 20, memory_per_node: 200 };
  const rules = (...lists: readonly Readonly<Record<string, unknown>>[][]) => ({
    priorities: lists.map((steps, at) => ({ priority: at + 1, steps })),
  });
  const three = [
    candidate("a", { ...state, nodes_free: 0, cost_per_node_hour: 9 }),
    candidate("b", { ...state, nodes_free: 5, cost_per_node_hour: 2 }),
    candidate("c", { ...state, nodes_free: 9, cost_per_node_hour: 5 }),
  ];

  test("the published example", () => {
    const priorities = parse(`
      - priority: 1
        steps:
        - filter: "nodes_free > 0"
        - calc: "build_cost=(cost_per_node_hour * (memory_per_node * seconds_per_gb)/60/60)"
        - sort_descending: build_cost
        - select: random
      - priority: 2
        steps:
        - filter: "nodes_free > 0"
        - calc: "memory_min=min(100, memory_per_node - 100)"
        - calc: "build_cost=(cost_per_node_hour * (memory_min * seconds_per_gb)/60/60)"
        - sort_descending: build_cost
        - select: first
    `) as unknown;
    const parameters = { seconds_per_gb: 0.4 };
    expect(ranked("constraint", three, { priorities }, { parameters })).toEqual(["c", "b"]);
    const random = () => 0.9;
    expect(ranked("constraint", three, { priorities }, { parameters, random })[0]).toBe("b");
  });

  test("the list may be a text of YAML, as in rainbow", () => {
    const text = `
- priority: 2
  steps: [{ select: first }]
- priority: 1
  steps:
  - filter: "nodes_free > 5"
`;
    expect(ranked("constraint", three, { priorities: text })).toEqual(["c"]);
    const options = { priorities: text };
    const [jobs, others] = [new PreparedSelects(), new PreparedSelects()];
    expect(jobs.of("constraint", options)).toBe(jobs.of("constraint", options)); // parsed once
    expect(jobs.of("first", options)).not.toBe(jobs.of("constraint", options));
    expect(others.of("constraint", options)).not.toBe(jobs.of("constraint", options));
    expect(parsePriorities(text).map(({ priority }) => priority)).toEqual([1, 2]);
  });

  const texts: readonly [string, string, string][] = [
    ["- {", "priorities", 'line 1, column 4: a "{" above is not closed'],
    ["", "priorities", "line 1, column 1: is empty"],
    ["a: 1", "priorities", "line 1, column 1: must be a list of 1 to 100 priorities"],
    ["- priority: 1.5", "priorities[0].priority", "line 1, column 13: must be a whole number"],
    [
      "- priority: 1\n  steps:\n  - filter: a >",
      "priorities[0].steps[0].filter",
      "line 3, column 13: position 4: something is missing at the end",
    ],
    [
      "- priority: 1\n  steps:\n  - fliter: a",
      "priorities[0].steps[0]",
      'line 3, column 5: "fliter" is not a step; did you mean filter?',
    ],
    ["- priority: 1", "priorities[0].steps", "line 1, column 3: must be a list of 1 to 100 steps"],
    ["[".repeat(20), "priorities", "line 1, column 17: is nested more than 16 deep"],
    ["a".repeat(70_000), "priorities", "line 1, column 1: has 70000 characters; at most 16384"],
  ];
  for (const [text, field, message] of texts) {
    test(`a text with a mistake is refused with line and column: ${message}`, () => {
      expect(() => parsePriorities(text)).toThrow(
        expect.objectContaining({
          field,
          message: expect.stringMatching(
            new RegExp(`^${RegExp.escape(`${field}: ${message}`)}`),
          ) as string,
        }),
      );
    });
  }

  test("a filter keeps clusters for which it is true, and says why others are dropped", () => {
    const options = rules([{ filter: "nodes_free > 5" }]);
    const { ranked, dropped } = select("constraint", [...three, candidate("d")], options);
    expect(ranked.map(({ name }) => name)).toEqual(["c"]);
    expect(dropped).toEqual([
      { name: "a", reason: { priority: 1, expression: "nodes_free > 5", problem: "is false" } },
      { name: "b", reason: { priority: 1, expression: "nodes_free > 5", problem: "is false" } },
      {
        name: "d",
        reason: { priority: 1, expression: "nodes_free > 5", problem: "nodes_free is not known" },
      },
    ]);
  });

  test("a filter that is not a boolean keeps nothing", () => {
    const { dropped } = select("constraint", three, rules([{ filter: "nodes_free" }]));
    expect(dropped.map(({ reason }) => reason)).toEqual([
      { priority: 1, expression: "nodes_free", problem: "is 0" },
      { priority: 1, expression: "nodes_free", problem: "is 5" },
      { priority: 1, expression: "nodes_free", problem: "is 9" },
    ]);
  });

  test("sorts by names with dashes and by sums, unknown values last in both directions", () => {
    const odd = ["a", "b", "c"].map((name, at) => candidate(name, at === 0 ? {} : { "n-x": at }));
    expect(ranked("constraint", odd, rules([{ sort_descending: "n-x" }]))).toEqual(["c", "b", "a"]);
    expect(ranked("constraint", odd, rules([{ sort_ascending: "n-x" }]))).toEqual(["b", "c", "a"]);
    expect(ranked("constraint", odd, rules([{ sort_ascending: "0 - [n-x]" }]))).toEqual([
      "c",
      "b",
      "a",
    ]);
  });

  test("when nothing is left the next priority is tried, lower numbers first", () => {
    const priorities = [
      { priority: 20, steps: [{ filter: "nodes_free > 5" }] },
      { priority: 3, steps: [{ filter: "nodes_free > 0" }] },
      { priority: 2, steps: [{ filter: "nodes_free > 100" }] },
    ];
    expect(ranked("constraint", three, { priorities })).toEqual(["b", "c"]);
    const none = select("constraint", three, rules([{ filter: "false" }], [{ filter: "1 > 2" }]));
    expect(none.ranked).toEqual([]);
    expect(none.dropped).toHaveLength(6);
  });

  test("select chooses the first, the last or any; without it the first", () => {
    const step = (which: string) => rules([{ select: which }]);
    expect(ranked("constraint", three, step("first"))[0]).toBe("a");
    expect(ranked("constraint", three, step("last"))[0]).toBe("c");
    expect(ranked("constraint", three, step("random"), { random: () => 0.5 })[0]).toBe("b");
    expect(ranked("constraint", three, step("last"))).toHaveLength(3);
    expect(ranked("constraint", [], step("random"))).toEqual([]);
  });

  test("calculated values come before state, state before parameters, and state never changes", () => {
    const [one] = three;
    if (one === undefined) throw new Error("no candidate");
    const before = structuredClone(one.state);
    const options = rules([
      { calc: "cost = cost_per_node_hour * nodes_free" },
      { calc: "nodes_free = 77" },
      { calc: "ignored = unknown + 1" },
      { filter: "nodes_free == 77 and cost == 0 and memory_per_node == 200 and only == 1" },
    ]);
    const parameters = { memory_per_node: 1, only: 1 };
    expect(ranked("constraint", [one], options, { parameters })).toEqual(["a"]);
    expect(one.state).toEqual(before);
  });

  const refused: readonly [string, unknown, string, RegExp][] = [
    ["no priorities", undefined, "priorities", /a list of 1 to/],
    ["none", [], "priorities", /a list of 1 to/],
    ["a text", "x", "priorities", /a list/],
    ["no number", [{ steps: [{ select: "first" }] }], "priorities[0].priority", /whole number/],
    ["no steps", [{ priority: 1, steps: [] }], "priorities[0].steps", /1 to/],
    ["two in one", step({ filter: "1", calc: "a=1" }), "priorities[1].steps[0]", /exactly one/],
    ["an unknown step", step({ fliter: "1" }), "priorities[1].steps[0]", /did you mean filter\?/],
    ["a wrong filter", step({ filter: "a >" }), "priorities[1].steps[0].filter", /position 4/],
    ["a wrong calc", step({ calc: "a + 1" }), "priorities[1].steps[0].calc", /there must be =/],
    ["a wrong sort", step({ sort_ascending: "a +" }), "priorities[1].steps[0].sort_ascending", /./],
    ["a wrong select", step({ select: "bogus" }), "priorities[1].steps[0].select", /"bogus"/],
    ["a list for a filter", step({ filter: [] }), "priorities[1].steps[0].filter", /a text/],
  ];
  for (const [name, value, field, text] of refused) {
    test(`is refused before anything is evaluated: ${name}`, () => {
      const parse = () => parsePriorities(value);
      expect(parse).toThrow(expect.objectContaining({ field, code: "invalid_argument" }));
      expect(parse).toThrow(text);
      expect(() => strategyByName("constraint").prepare({ priorities: value })).toThrow(text);
    });
  }
});

/** A list whose second priority has this step. */
function step(content: Readonly<Record<string, unknown>>): unknown {
  return [
    { priority: 1, steps: [{ select: "first" }] },
    { priority: 2, steps: [content] },
  ];
}

test("the size of a selection is checked before anything in it is parsed", () => {
  const options = { priorities: "k: [".repeat(10_000), nested: { deep: "x" } };
  expect(() =>
    toJobSpec({ command: ["true"], select: { strategy: "constraint", options } }),
  ).toThrow(`select: options and parameters have at most ${limits.selectCharsMax} characters`);
});
