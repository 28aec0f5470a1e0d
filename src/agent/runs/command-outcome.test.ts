import { expect, test } from "vitest";
import { REFUSALS } from "./command-outcome.ts";

test.each(["make test", "A=b", "cd"])("%j that is not found leads to a shell", (program) => {
  expect(REFUSALS["not-found"](program, "PATH=/bin")).toBe(
    `program not found: ${program}; looked in PATH=/bin; for a line of shell write sh -c '...'`,
  );
});

test.each(["mkae", "./my step", "the interpreter of the script, /bin/nosuch"])(
  "%j that is not found does not",
  (program) => expect(REFUSALS["not-found"](program)).toBe(`program not found: ${program}`),
);
