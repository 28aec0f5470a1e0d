import { describe, expect, test } from "vitest";
import { readCases } from "../../../testing/cases.ts";
import { checkJobspec } from "./parse.ts";
import { describeProblem } from "./problems.ts";

/** The first four lines of many documents: "..." in the table. */
const HEAD = `version: 1
resources:
  spack: {type: node, count: 2, with: [{type: core, count: 4}]}
  small: {type: core, count: 1}
`;

describe("a problem has its line, column and path, and says what would be right", () => {
  const cases = readCases(new URL("problems.cases.txt", import.meta.url));

  test("the test reads all cases", () => expect(cases).toHaveLength(89));

  for (const { name, input, output } of cases) {
    test(name, () => {
      const checked = checkJobspec(input.replace(/^\.\.\.\n?/, HEAD));
      expect(checked.kind === "invalid" && checked.problems.map(describeProblem)).toEqual(output);
    });
  }
});
