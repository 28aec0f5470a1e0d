import { describe, expect, test } from "vitest";
import { AppError } from "../../../lib/errors.ts";
import { unknownFields, specFields } from "./fields.ts";
import { KINDS } from "./kinds.ts";
import { makeObject } from "./object.ts";
import { jsonPatch, mergePatch } from "./patch.ts";
import { toSelector } from "./selectors.ts";
import { ageOf, tableHead, toRow } from "./table.ts";

const job = makeObject(KINDS.Job, {
  path: ["DefaultGroup", "job-1"],
  createdMs: 1_000,
  revision: 7,
  labels: { tier: "gold" },
  spec: { jobId: 1, powerNeeded: 300, creationTime: 1 },
  state: { percentCompleted: 40, startTime: 5, endTime: 0, execution: { a: {}, b: {} } },
});

describe("selectors", () => {
  const labels: readonly (readonly [string, boolean])[] = [
    ["", true],
    ["tier=gold", true],
    ["tier==gold,nexus/display_name=job-1", true],
    ["tier!=gold", false],
    ["other!=x", true],
    ["tier in (silver, gold)", true],
    ["tier notin (silver,gold)", false],
    ["other notin (x)", true],
    ["tier", true],
    ["!tier", false],
    ["!other,tier in (gold),jobgroups.jobgroup.intel.com=DefaultGroup", true],
  ];
  for (const [text, fits] of labels) {
    test(`labels ${JSON.stringify(text)}`, () => {
      expect(toSelector(text, undefined).fits(job)).toBe(fits);
    });
  }
  const fields: readonly (readonly [string, boolean])[] = [
    [`metadata.name=${job.metadata.name}`, true],
    ["metadata.name=job-1", true],
    ["metadata.name!=job-1", true],
    ["metadata.name=job-2", false],
    ["spec.powerNeeded=300,status.state.percentCompleted!=100", true],
    ["metadata.namespace=", true],
  ];
  for (const [text, fits] of fields) {
    test(`fields ${JSON.stringify(text)}`, () => {
      expect(toSelector(undefined, text).fits(job)).toBe(fits);
    });
  }
  test("an invalid selector is rejected with a valid example", () => {
    expect(() => toSelector("a=b=c", undefined)).toThrow("labelSelector");
    expect(() => toSelector(undefined, "name=x")).toThrow("metadata.name=");
    expect(() => toSelector("a".repeat(5_000), undefined)).toThrow("at most");
  });
});

describe("patches", () => {
  test("a merge patch removes by null, merges objects and replaces the rest", () => {
    const before = { a: { b: 1, c: 2 }, d: [1, 2] };
    expect(mergePatch(before, { a: { b: null, e: 3 }, d: [3] })).toEqual({
      a: { c: 2, e: 3 },
      d: [3],
    });
    expect(before.a.b).toBe(1);
  });

  test("a JSON patch replaces an absent field: old clients depend on it", () => {
    const patch = [
      { op: "replace", path: "/metadata/labels", value: { x: "y" } },
      { op: "replace", path: "/metadata/finalizers", value: null },
    ];
    expect(jsonPatch({ metadata: { labels: {} } }, patch)).toEqual({
      metadata: { labels: { x: "y" }, finalizers: null },
    });
  });

  test("operations of a JSON patch", () => {
    const before = { a: { "b/c": 1 }, list: [1, 2, 3] };
    const patch = [
      { op: "test", path: "/a/b~1c", value: 1 },
      { op: "add", path: "/list/-", value: 4 },
      { op: "remove", path: "/list/0" },
      { op: "move", from: "/a/b~1c", path: "/moved" },
      { op: "copy", from: "/list", path: "/copy" },
    ];
    expect(jsonPatch(before, patch)).toEqual({
      a: {},
      list: [2, 3, 4],
      moved: 1,
      copy: [2, 3, 4],
    });
  });

  for (const [wrong, where] of [
    [{}, "a list of operations"],
    [[{ op: "grow", path: "/a" }], "[0]"],
    [[{ op: "remove", path: "/none" }], "there is nothing at /none"],
    [[{ op: "test", path: "/a", value: 9 }], "has another value"],
    [[{ op: "add", path: "a", value: 9 }], "JSON pointer"],
  ] as const) {
    test(`rejected: ${JSON.stringify(wrong)}`, () => {
      expect(() => jsonPatch({ a: 1 }, wrong)).toThrow(where);
      expect(() => jsonPatch({ a: 1 }, wrong)).toThrow(AppError);
    });
  }

  test("neither can change a prototype", () => {
    const hostile = JSON.parse('{"__proto__":{"evil":1}}') as object;
    mergePatch({}, hostile);
    jsonPatch({}, [{ op: "add", path: "/__proto__", value: { evil: 1 } }]);
    expect(({} as Record<string, unknown>)["evil"]).toBeUndefined();
  });
});

test("fields that the model does not have are reported with their paths", () => {
  const fields = specFields(KINDS.Job);
  expect(unknownFields({ powerNeeded: 1, powerneeded: 2 }, fields, "spec")).toEqual([
    "spec.powerneeded",
  ]);
});

test("a row of jobs shows state, percent, power and age", () => {
  const head = tableHead(KINDS.Job, {}) as {
    columnDefinitions: { name: string; priority: number }[];
  };
  expect(
    head.columnDefinitions.filter(({ priority }) => priority === 0).map((c) => c.name),
  ).toEqual(["Name", "Group", "State", "Percent", "Power", "Age"]);
  expect(toRow(KINDS.Job, job, 301_000, "None")).toEqual({
    cells: ["job-1", "DefaultGroup", "Running", 40, 300, 2, "5m", job.metadata.name],
    object: null,
  });
});

test("ages are written as in kubectl", () => {
  const minute = 60_000;
  const hour = 60 * minute;
  const day = 24 * hour;
  const ages = [0, 119_000, 130_000, 10 * minute, 179 * minute, 3.5 * hour, 47 * hour, 3 * day];
  expect(ages.map(ageOf)).toEqual(["0s", "119s", "2m10s", "10m", "179m", "3h30m", "47h", "3d"]);
});
