import { describe, expect, test } from "vitest";
import type { JobSpecInput } from "../job-spec.ts";
import { toJobSpec } from "../job-spec.ts";

const spec = (over: Partial<JobSpecInput>) => toJobSpec({ command: ["cat"], ...over });

test("a job with a client goes only where a client can be attached", () => {
  const { terms, where } = spec({ attach: "stdin", hangUpMs: 5_000 });
  expect([terms.attach, terms.hangUpMs, where]).toEqual(["stdin", 5_000, { attach: true }]);
  expect(spec({}).where).toEqual({});
});

describe("rejected", () => {
  test.each<[string, Partial<JobSpecInput>, string]>([
    ["another word", { attach: "pipe" }, "attach:"],
    ["too short a time", { attach: "stdin", hangUpMs: 1 }, "hangUpMs: must be a whole number from"],
    ["a time without a client", { hangUpMs: 5_000 }, "hangUpMs: is for jobs with attach"],
    ["an array", { attach: "stdin", array: "0-3" }, "array: cannot be combined with attach"],
    ["entries", { attach: "stdin", entries: ["a"] }, "entries: cannot be combined with attach"],
    [
      "retries",
      { attach: "stdin", retries: { max: 1 } },
      "retries.max: cannot be combined with attach",
    ],
    ["an image", { attach: "stdin", image: "tool:1" }, "image: cannot be combined with attach"],
    ["a service", { attach: "stdin", service: {} }, "service: cannot be combined with attach"],
    [
      "a file for a terminal",
      { attach: "terminal", stdoutFile: "x" },
      "stdoutFile: cannot be combined with",
    ],
    [
      "a pull cluster",
      { attach: "stdin", placement: { kind: "pulling" } },
      "placement.kind: cannot be combined with attach",
    ],
  ])("%s", (_, over, message) => {
    expect(() => spec(over)).toThrow(message);
  });

  test("no retries and a file for the output of a task with input are accepted", () => {
    expect(() => spec({ attach: "stdin", retries: { max: 0 }, stdoutFile: "x" })).not.toThrow();
  });
});
