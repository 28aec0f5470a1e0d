import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import {
  countIndexes,
  formatIndexRanges,
  hasIndex,
  indexAt,
  parseIndexRanges,
  positionOf,
} from "./job/array-range.ts";
import { checkName, parseTaskId } from "./ids.ts";
import { backoffMs } from "./job/job.ts";
import type { JobSpecInput } from "./job/job-spec.ts";
import { toJobSpec } from "./job/job-spec.ts";
import { dominantShare, fits, formatAmount, fromResources, toResources } from "./resources.ts";
import type { TaskState } from "./job/task.ts";
import { canMove, isEnded } from "./job/task.ts";
import { nodeId } from "./ids.ts";

/** The message of the AppError that `run` throws. */
function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return `${error.field}: ${error.message}`;
    throw error;
  }
  return "accepted";
}

const bounds = { tasksMax: 1_000, indexMax: 10_000 };

describe("array ranges", () => {
  const good = [
    { text: "0-99", count: 100, shown: "0-99" },
    { text: "5", count: 1, shown: "5" },
    { text: "1-9:2", count: 5, shown: "1-9:2" },
    { text: "1-10:2", count: 5, shown: "1-9:2" },
    { text: "8,0-3, 10-12", count: 8, shown: "0-3,8,10-12" },
  ];
  for (const { text, count, shown } of good) {
    test(`${text} has ${count}`, () => {
      const ranges = parseIndexRanges(text, "array", bounds);
      expect(countIndexes(ranges)).toBe(count);
      expect(formatIndexRanges(ranges)).toBe(shown);
    });
  }

  const bad = ["", "a", "1-", "-1", "3-1", "1-5:0", "0-1000", "0-3,2-5", "1-20000", "1.5", "0x10"];
  for (const text of bad) {
    test(`${JSON.stringify(text)} is refused, naming the field`, () => {
      expect(refusal(() => parseIndexRanges(text, "array", bounds))).toMatch(/^array: array: /);
    });
  }

  test("position and index are each other's inverse", () => {
    const part = fc.tuple(fc.nat(50), fc.nat(30), fc.integer({ min: 1, max: 7 }));
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), (parts) => {
        let at = 0;
        const texts = parts.map(([gap, length, step]) => {
          const first = at + gap;
          at = first + length + 1;
          return `${first}-${first + length}:${step}`;
        });
        const ranges = parseIndexRanges(texts.join(","), "array", bounds);
        for (let position = 0; position < countIndexes(ranges); position++) {
          const index = indexAt(ranges, position);
          expect(index).toBeDefined();
          expect(hasIndex(ranges, index ?? -1)).toBe(true);
          expect(positionOf(ranges, index ?? -1)).toBe(position);
        }
        expect(indexAt(ranges, countIndexes(ranges))).toBeUndefined();
      }),
    );
  });
});

describe("resources", () => {
  test("cpu is stored in thousandths, the rest in whole units", () => {
    expect(toResources({ cpu: 0.5, memory: 1024, gpu: 2, none: 0 }, "resources", 8)).toEqual({
      cpu: 500,
      memory: 1024,
      gpu: 2,
    });
    expect(fromResources({ cpu: 1_500, memory: 3 })).toEqual({ cpu: 1.5, memory: 3 });
  });

  const bad: readonly { amounts: Record<string, number>; says: string }[] = [
    { amounts: { cpu: -1 }, says: "resources.cpu" },
    { amounts: { cpu: Number.NaN }, says: "resources.cpu" },
    { amounts: { cpu: 0.0001 }, says: "multiple of 0.001" },
    { amounts: { gpu: 1.5 }, says: "multiple of 1" },
    { amounts: { memory: 1e300 }, says: "too large" },
    { amounts: { "Bad Name": 1 }, says: "not a resource name" },
    { amounts: { constructor: 1 }, says: "not a resource name" },
    { amounts: { a: 1, b: 1, c: 1 }, says: "at most 2 names" },
  ];
  for (const { amounts, says } of bad) {
    test(`${JSON.stringify(amounts)} is refused: ${says}`, () => {
      expect(refusal(() => toResources(amounts, "resources", 2))).toContain(says);
    });
  }

  test("fits compares every name; absent means none", () => {
    expect(fits({ cpu: 1 }, { cpu: 1 })).toBe(true);
    expect(fits({ cpu: 1, gpu: 1 }, { cpu: 1 })).toBe(false);
    expect(fits({}, {})).toBe(true);
  });

  test("the dominant share is that of the scarcest resource", () => {
    expect(dominantShare({ cpu: 1, memory: 3 }, { cpu: 10, memory: 4 })).toBe(0.75);
    expect(dominantShare({ gpu: 1 }, { cpu: 10 })).toBe(Number.POSITIVE_INFINITY);
  });

  test("amounts are shown in units people use", () => {
    expect(formatAmount("cpu", 2_500)).toBe("2.5 cpu");
    expect(formatAmount("memory", 1.5 * 1024 ** 3)).toBe("1.5 GiB memory");
    expect(formatAmount("disk", 100 * 1024 ** 2)).toBe("100 MiB disk");
    expect(formatAmount("gpu", 2)).toBe("2 gpu");
  });
});

describe("ids", () => {
  test("tasks are named by job and index", () => {
    expect(parseTaskId("17", "id")).toEqual({ jobId: 17, index: undefined });
    expect(parseTaskId("17.3", "id")).toEqual({ jobId: 17, index: 3 });
  });
  for (const text of [
    "",
    "0",
    "-1",
    "1.",
    "1.-1",
    "01",
    "1.01",
    "x",
    "99999999999",
    "1.2.3",
    " 1",
  ]) {
    test(`${JSON.stringify(text)} is not an id`, () => {
      expect(refusal(() => parseTaskId(text, "id"))).toContain("is not an id");
    });
  }
  for (const text of ["", "-a", "a-", "a b", "a/b", "a".repeat(20), "ä"]) {
    test(`${JSON.stringify(text)} is not a name`, () => {
      expect(refusal(() => checkName(text, "node", 10))).toContain("is not a name");
    });
  }
});

describe("job specs", () => {
  test("defaults are filled in", () => {
    expect(toJobSpec({ command: ["/bin/true", "x"] })).toMatchObject({
      name: "true",
      group: "default",
      needs: { cpu: 1_000 },
      priority: 0,
      retries: { max: 0 },
      killGraceMs: limits.killGraceMsDefault,
    });
  });

  const long = "x".repeat(limits.workBytesMax + 1);
  const bad: { readonly input: JobSpecInput; readonly says: string }[] = [
    { input: {}, says: "command: must name a program" },
    { input: { command: [] }, says: "command: must name a program" },
    { input: { command: [""] }, says: "command: must name a program" },
    { input: { command: ["a\0b"] }, says: "command[0]: must not contain a NUL" },
    {
      input: { command: ["a", "\ud800"] },
      says: "command[1]: must not contain half a surrogate pair",
    },
    {
      input: { command: ["a"], env: { A: "\udc00" } },
      says: "env.A: must not contain half a surrogate pair",
    },
    {
      input: { command: ["a"], array: "0", entries: ["\ud83d"] },
      says: "entries[0]: must not contain half a surrogate pair",
    },
    {
      input: { command: ["a"], script: "b" },
      says: "script: give either command or script, not both",
    },
    { input: { script: "  \n" }, says: "script: must not be empty" },
    { input: { script: long }, says: "script: with env it has" },
    { input: { command: ["a", long] }, says: "command: with env it has" },
    { input: { command: ["a"], env: { "A=B": "c" } }, says: 'env: "A=B" is not a variable' },
    { input: { command: ["a"], env: { BUSBAR_X: "c" } }, says: "env.BUSBAR_X: BUSBAR_ names" },
    {
      input: { command: ["a"], placement: { kind: "all" } },
      says: 'placement.kind: "all" is not one of',
    },
    { input: { command: ["a"], cwd: "tmp" }, says: "cwd: must be an absolute path" },
    { input: { command: ["a"], name: "" }, says: "name: must have 1 to" },
    { input: { command: ["a"], group: "a b" }, says: 'group: "a b" is not a name' },
    { input: { command: ["a"], priority: 1.5 }, says: "priority: must be a whole number" },
    { input: { command: ["a"], priority: 1e9 }, says: "priority: must be a whole number" },
    {
      input: { command: ["a"], timeLimitMs: 0 },
      says: "timeLimitMs: must be a whole number from 1",
    },
    { input: { command: ["a"], timeLimitMs: -5 }, says: "timeLimitMs: must be" },
    { input: { command: ["a"], queueDeadlineMs: 1e15 }, says: "queueDeadlineMs: must be" },
    { input: { command: ["a"], retries: { max: -1 } }, says: "retries.max: must be" },
    { input: { command: ["a"], retries: { backoffMs: 5, backoffMaxMs: 4 } }, says: "backoffMaxMs" },
    { input: { command: ["a"], array: "5-1" }, says: "array: 5-1 ends before it begins" },
    {
      input: { command: ["a"], resources: { cpu: -1 } },
      says: "resources.cpu: must be a number from 0",
    },
    { input: { command: ["a"], placement: { node: "a b" } }, says: "placement.node" },
    { input: { command: ["a"], labels: { "a b": "c" } }, says: 'labels: "a b" is not a label' },
    { input: { command: ["a"], outputLimitBytes: -1 }, says: "outputLimitBytes: must be" },
  ];
  for (const { input, says } of bad) {
    test(`refused: ${says}`, () => {
      expect(refusal(() => toJobSpec(input))).toContain(says);
    });
  }

  test("backoff doubles up to its maximum", () => {
    const retries = { max: 9, backoffMs: 100, backoffMaxMs: 1_000 };
    expect([1, 2, 3, 4, 5, 60].map((failures) => backoffMs(retries, failures))).toEqual([
      100, 200, 400, 800, 1_000, 1_000,
    ]);
  });
});

describe("task states", () => {
  const node = nodeId("n");
  const states: readonly TaskState[] = [
    { kind: "waiting", notBeforeMs: 0 },
    { kind: "assigned", nodeId: node, assignedAtMs: 0 },
    { kind: "running", nodeId: node, assignedAtMs: 0, startedAtMs: 0 },
    { kind: "stopping", nodeId: node, assignedAtMs: 0, startedAtMs: 0, reason: "" },
    { kind: "succeeded", nodeId: node, startedAtMs: 0, endedAtMs: 0 },
    { kind: "failed", nodeId: node, startedAtMs: 0, endedAtMs: 0, failure: { kind: "time-limit" } },
    { kind: "cancelled", nodeId: node, startedAtMs: 0, endedAtMs: 0, reason: "" },
  ];

  test("ended states are final", () => {
    for (const from of states.filter(isEnded)) {
      for (const to of states) expect(canMove(from, to)).toBe(false);
    }
  });

  test("a task runs only after it was assigned", () => {
    const running = states.find(({ kind }) => kind === "running") as TaskState;
    const before = states.filter((from) => canMove(from, running)).map(({ kind }) => kind);
    expect(before).toEqual(["assigned", "running"]);
    expect(canMove(undefined, running)).toBe(false);
  });
});
