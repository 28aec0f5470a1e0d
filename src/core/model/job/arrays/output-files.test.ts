import { expect, test } from "vitest";
import { type JobSpecInput, toJobSpec } from "../job-spec.ts";

const cases: readonly (readonly [string, Partial<JobSpecInput>, string | undefined])[] = [
  ["one file of one task", { stdoutFile: "out.txt" }, undefined],
  ["all that is replaced", { stdoutFile: "%j-%i-%a-%n-100%%" }, undefined],
  ["an unknown letter", { stderrFile: "out-%q" }, 'stderrFile: "%q" is not known'],
  ["a percent sign at the end", { stdoutFile: "100%" }, 'stdoutFile: "%" is not known'],
  ["one file of an array", { array: "0-3", stdoutFile: "out" }, '"out" would be written by all'],
  ["one file of entries", { entries: ["a"], stderrFile: "out" }, '"out" would be written by all'],
  ["a file for each task", { array: "0-3", stdoutFile: "out-%i" }, undefined],
  ["nowhere, by all tasks", { array: "0-3", stdoutFile: "/dev/null" }, undefined],
];

for (const [name, input, problem] of cases) {
  test(`files for output: ${name}`, () => {
    const read = () => toJobSpec({ command: ["true"], ...input });
    if (problem === undefined) expect(read).not.toThrow();
    else expect(read).toThrow(problem);
  });
}
