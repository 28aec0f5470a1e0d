import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stringify as toYaml } from "yaml";
import type { Jobspec, JobspecItem } from "../model.ts";
import { checkJobspec, parseJobspec } from "../read/parse.ts";
import { document } from "../testing/arbitrary.ts";
import { toNextgen } from "./to-nextgen.ts";
import { DIALECTS } from "../testing/documents.ts";

const START = { line: 1, column: 1 };

/** The meaning of a jobspec, independent of its dialect and structure. */
function meaning(jobspec: Jobspec): unknown {
  const unplaced = (item: JobspecItem): unknown =>
    item.kind === "group"
      ? { ...item, at: START, items: item.items.map(unplaced) }
      : { ...item, at: START };
  return {
    ...jobspec,
    dialect: "nextgen",
    resources: new Map(
      [...jobspec.resources].map(([name, each]) => [name, { ...each, at: START }]),
    ),
    items: jobspec.items.map(unplaced),
  };
}

describe("conversion to nextgen", () => {
  for (const [name, text] of DIALECTS) {
    test(`a document in ${name} means the same afterwards`, () => {
      const jobspec = parseJobspec(text);
      const converted = toNextgen(jobspec);
      expect(meaning(parseJobspec(JSON.stringify(converted)))).toEqual(meaning(jobspec));
      expect(meaning(parseJobspec(toYaml(converted)))).toEqual(meaning(jobspec));
      expect(parseJobspec(toYaml(converted)).dialect).toBe("nextgen");
    });
  }

  test("any document keeps its meaning", () => {
    let valid = 0;
    let runs = 0;
    fc.assert(
      fc.property(document, (each) => {
        runs += 1;
        const checked = checkJobspec(JSON.stringify(each));
        if (checked.kind === "invalid") return;
        valid += 1;
        const again = checkJobspec(JSON.stringify(toNextgen(checked.jobspec)));
        expect(again).toMatchObject({ kind: "valid" });
        expect(again.kind === "valid" && meaning(again.jobspec)).toEqual(meaning(checked.jobspec));
      }),
      { numRuns: 150 },
    );
    expect(valid / runs).toBeGreaterThan(0.3);
  });
});
