import { describe, expect, test } from "vitest";
import {
  ageOf,
  type ClusterState,
  countDown,
  mergeState,
  NO_STATE,
  parseCounters,
  valuesOf,
} from "./cluster-state.ts";

const merge = (patch: unknown, state: ClusterState = NO_STATE, nowMs = 1_000) =>
  mergeState(state, patch, nowMs);

describe("the state that a cluster reports", () => {
  test("is merged: reported keys replace, other keys stay, null removes", () => {
    const before = merge({ nodes_free: 20, os: "rocky", isOpen: true, gone: 1 });
    const after = merge({ nodes_free: 10, gone: null, never: null }, before, 2_000);
    expect(valuesOf(after)).toEqual({ nodes_free: 10, os: "rocky", isOpen: true });
    expect(valuesOf(before)).toMatchObject({ nodes_free: 20, gone: 1 });
    expect(merge(null, before)).toBe(before);
  });

  test("each key has its own age", () => {
    const state = merge({ a: 2 }, merge({ a: 1, b: 1 }), 5_000);
    expect([ageOf(state, "a", 6_000), ageOf(state, "b", 6_000)]).toEqual([1_000, 5_000]);
    expect(ageOf(state, "c", 6_000)).toBeUndefined();
    expect(ageOf(state, "toString", 6_000)).toBeUndefined();
    expect(ageOf(state, "a", 0)).toBe(0);
  });

  test("keys may be named like properties of Object.prototype", () => {
    const state = merge(JSON.parse('{"__proto__": 1, "constructor": 2, "nodes-free": 3}'));
    expect(Object.keys(valuesOf(state))).toEqual(["__proto__", "constructor", "nodes-free"]);
    expect(ageOf(state, "__proto__", 1_000)).toBe(0);
  });

  const refused: readonly [string, unknown, string][] = [
    ["a list", [], "state"],
    ["a text", "x", "state"],
    ["nothing", undefined, "state"],
    ["a nested value", { a: { b: 1 } }, "state.a"],
    ["no finite number", { a: Infinity }, "state.a"],
    ["a long text", { a: "x".repeat(2_000) }, "state.a"],
    ["an empty key", { "": 1 }, "state"],
    ["a key with brackets", { "a]": 1 }, "state"],
    [
      "many keys",
      Object.fromEntries(Array.from({ length: 1_001 }, (_, at) => [`k${at}`, 1])),
      "state",
    ],
  ];
  for (const [name, patch, field] of refused) {
    test(`is refused whole: ${name}`, () => {
      expect(() => merge(patch)).toThrow(expect.objectContaining({ field }));
    });
  }
});

describe("counters", () => {
  const counters = parseCounters([
    { key: "nodes_free", by: "nodes" },
    { key: "slots_free", by: "slots" },
    { key: "starts_left", by: "jobs" },
    { key: "os", by: "jobs" },
    { key: "untold", by: "jobs" },
  ]);

  test("count down by nodes, slots or jobs, never below 0, until the cluster reports the key again", () => {
    const state = merge({ nodes_free: 20, slots_free: 3, starts_left: 2, os: "x", other: 1 });
    const after = countDown(state, counters, { nodes: 4, slots: 8 });
    expect(valuesOf(after)).toEqual({
      nodes_free: 16,
      slots_free: 0,
      starts_left: 1,
      os: "x",
      other: 1,
    });
    expect(ageOf(after, "nodes_free", 3_000)).toBe(2_000);
    expect(valuesOf(merge({ nodes_free: 20 }, after)).nodes_free).toBe(20);
    expect(valuesOf(state).nodes_free).toBe(20);
  });

  test("invalid counters are rejected by name", () => {
    const parse = (value: unknown) => () => parseCounters(value);
    expect(parse({})).toThrow(expect.objectContaining({ field: "counters" }));
    expect(parse([1])).toThrow(expect.objectContaining({ field: "counters[0]" }));
    expect(parse([{ by: "nodes" }])).toThrow(expect.objectContaining({ field: "counters[0].key" }));
    expect(parse([{ key: "a", by: "x" }])).toThrow(
      expect.objectContaining({ field: "counters[0].by" }),
    );
  });
});
