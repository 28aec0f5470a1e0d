import { describe, expect, test } from "vitest";
import {
  advance,
  checkProgress,
  meanPercent,
  parseProgressLine,
  readProgress,
} from "./task-progress.ts";

describe("a progress line of a task", () => {
  test.each([
    ["40", { percent: 40, message: "" }],
    ["40 step 3", { percent: 40, message: "step 3" }],
    ["  40%   step  3  ", { percent: 40, message: "step  3" }],
    ["40 % step 3", { percent: 40, message: "step 3" }],
    ["0", { percent: 0, message: "" }],
    ["100", { percent: 100, message: "" }],
    ["99.999 nearly", { percent: 99.99, message: "nearly" }],
    ["33.3", { percent: 33.3, message: "" }],
    ["0.29", { percent: 0.29, message: "" }],
    ["7. dot", { percent: 7, message: "dot" }],
    ["40 \u001b[2Jgone", { percent: 40, message: "␛[2Jgone" }],
    ["40 a\u0000b", { percent: 40, message: "a␀b" }],
    ["40 \u202ecba", { percent: 40, message: "\ufffdcba" }],
    [`40 ${"x".repeat(9_999)}`, { percent: 40, message: "x".repeat(200) }],
  ])("%j is valid", (line, progress) => {
    expect(parseProgressLine(line)).toEqual(progress);
  });

  test.each([
    "",
    " ",
    "-1",
    "100.01",
    "101",
    "1e2",
    "NaN",
    "Infinity",
    "0x10",
    "40step",
    "step 3",
    "١٢",
  ])("%j is not", (line) => {
    expect(parseProgressLine(line)).toBeUndefined();
  });
});

test("invalid reports of an agent are ignored, and its texts are made printable", () => {
  expect(readProgress(Number.NaN, "")).toBeUndefined();
  expect(readProgress(-0.01, "")).toBeUndefined();
  expect(readProgress(Number.POSITIVE_INFINITY, "")).toBeUndefined();
  expect(readProgress(50, "a\nb\ud800")).toEqual({ percent: 50, message: "a␊b\ufffd" });
});

test("a caller gets an error with the problem and its place", () => {
  expect(checkProgress(12.345, "x")).toEqual({ percent: 12.34, message: "x" });
  expect(() => checkProgress(101, "")).toThrow("percent: must be from 0 to 100, not 101");
  expect(() => checkProgress(1, "a\u0007", "reports[0].")).toThrow(
    "reports[0].message: must not have control characters",
  );
  expect(() => checkProgress(1, "x".repeat(201))).toThrow("message: at most 200 characters");
});

test("progress never decreases, and a report without news changes nothing", () => {
  const known = { percent: 40, message: "a", atMs: 1 };
  expect(advance(undefined, { percent: 0, message: "" }, 5)).toEqual({
    percent: 0,
    message: "",
    atMs: 5,
  });
  expect(advance(known, { percent: 41, message: "" }, 5)).toEqual({
    percent: 41,
    message: "",
    atMs: 5,
  });
  expect(advance(known, { percent: 40, message: "b" }, 5)).toEqual({
    percent: 40,
    message: "b",
    atMs: 5,
  });
  expect(advance(known, { percent: 40, message: "a" }, 5)).toBeUndefined();
  expect(advance(known, { percent: 39.99, message: "b" }, 5)).toBeUndefined();
});

test("several parts count by their weight, and are complete only when all are", () => {
  expect(meanPercent([])).toBe(0);
  expect(meanPercent([{ percent: 50, weight: 0 }])).toBe(0);
  expect(
    meanPercent([
      { percent: 100, weight: 300 },
      { percent: 0, weight: 100 },
    ]),
  ).toBe(75);
  expect(
    meanPercent([
      { percent: 100, weight: 1e9 },
      { percent: 0, weight: 1 },
    ]),
  ).toBe(99.99);
  expect(meanPercent(Array.from({ length: 7 }, () => ({ percent: 100, weight: 0.1 })))).toBe(100);
});
