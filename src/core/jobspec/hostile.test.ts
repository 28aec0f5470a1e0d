import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { AppError } from "../../lib/errors.ts";
import { toJobSpec } from "../model/job/job-spec.ts";
import { flattenTasks } from "./flatten.ts";
import type { Jobspec } from "./model.ts";
import { checkJobspec, parseJobspec } from "./read/parse.ts";
import { plan, planTargets, toScript } from "./plan/plan.ts";
import { toBusbarJobs } from "./write/to-busbar.ts";
import { toFluxV1 } from "./write/to-flux-v1.ts";
import { toNextgen } from "./write/to-nextgen.ts";
import { toSteps } from "./write/to-steps.ts";
import { DIALECTS } from "./testing/documents.ts";
import { runs } from "../../testing/runs.ts";

/** Every conversion of a valid jobspec must succeed or throw an AppError. */
function convertAll(jobspec: Jobspec): void {
  const attempts: readonly (() => unknown)[] = [
    () => toNextgen(jobspec),
    () => toFluxV1(jobspec),
    () => toBusbarJobs(jobspec).jobs.forEach(({ spec }) => toJobSpec(spec)),
    () => toSteps(jobspec),
    ...planTargets.map((target) => () => toScript(plan(jobspec, target))),
  ];
  for (const attempt of attempts) {
    try {
      attempt();
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
    }
  }
}

describe("hostile input", () => {
  const sources = DIALECTS.map(([, text]) => text);
  const anything = fc.oneof(
    fc.constantFrom<unknown>(
      "",
      "a|b",
      "a&",
      "n",
      0,
      1,
      -1,
      1.5,
      1e300,
      true,
      null,
      [],
      {},
      [[]],
      "g",
    ),
    fc.constantFrom<unknown>("__proto__", "constructor", "train", "pool", "#!", "'", "300s"),
    fc.jsonValue({ maxDepth: 2 }),
  );

  /** Replaces or removes one value, or moves it to another key. */
  function mutate(value: unknown, at: number, by: unknown, how: number): unknown {
    const places: (() => void)[] = [];
    const copy = structuredClone(value);
    const visit = (each: unknown): void => {
      if (typeof each !== "object" || each === null) return;
      const map = each as Record<string, unknown>;
      for (const key of Object.keys(map)) {
        places.push(() => {
          if (how === 0) map[key] = by;
          else if (how === 1) delete map[key];
          else if (how === 2) map[typeof by === "string" ? by : `${key}s`] = map[key];
          else map[key] = [map[key], map[key]];
        });
        visit(map[key]);
      }
    };
    visit(copy);
    places[at % Math.max(1, places.length)]?.();
    return copy;
  }

  test("a changed document is a jobspec or has problems with places; no other error is thrown", () => {
    const change = fc.record({ at: fc.nat(500), by: anything, how: fc.nat(3) });
    fc.assert(
      fc.property(
        fc.constantFrom(...sources),
        fc.array(change, { minLength: 1, maxLength: 4 }),
        (text, changes) => {
          let value: unknown = parseYaml(text);
          for (const { at, by, how } of changes) value = mutate(value, at, by, how);
          const checked = checkJobspec(JSON.stringify(value) ?? "");
          if (checked.kind === "valid") convertAll(checked.jobspec);
          else {
            expect(checked.problems.length).toBeGreaterThan(0);
            for (const { at } of checked.problems) expect(at.line).toBeGreaterThan(0);
          }
        },
      ),
      { numRuns: runs(600) },
    );
  });

  test("a text with pieces cut out or inserted", () => {
    const piece = fc.constantFrom(
      "",
      " ",
      "\n",
      "-",
      ":",
      "[",
      "{",
      "'",
      "|",
      "&a ",
      "*a",
      "#",
      "\t",
      "? ",
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...sources),
        fc.nat(1_500),
        fc.nat(8),
        piece,
        (text, at, length, put) => {
          const checked = checkJobspec(text.slice(0, at) + put + text.slice(at + length));
          if (checked.kind === "valid") convertAll(checked.jobspec);
        },
      ),
      { numRuns: runs(400) },
    );
  });

  test("malicious documents end quickly", () => {
    const head = "version: 1\nresources: {r: {type: node, count: 1}}\n";
    const chain = Array.from(
      { length: 100 },
      (_, at) => `- {name: g${at}, resources: r, tasks: [{group: g${at + 1}}]}\n`,
    ).join("");
    const cases: readonly (readonly [string, RegExp])[] = [
      [
        `${head}tasks:\n${"- {command: [x], resources: r}\n".repeat(5_001)}`,
        /has 5001 tasks and groups; at most 5000/,
      ],
      [
        `${head}groups:\n${chain}- {name: g100, tasks: [{command: [x]}]}`,
        /groups are nested more than 32 deep/,
      ],
      [`${head}tasks: [{command: [x], resources: "${"r|".repeat(64)}r"}]`, /at most 64 names/],
      [
        `${head}requires: {s: [{name: a, field: b}]}\ntasks: [{command: [x], resources: ${"r|".repeat(9)}r, requires: ${"s|".repeat(9)}s}]`,
        /100 alternatives of resources and requirements; at most 64/,
      ],
      [
        `version: 1\nresources: {r: {type: node, count: 1, with: [${"{type: core, count: 1},".repeat(10_000)}]}}\ntasks:\n${'- {command: [x], resources: "r|r|r"}\n'.repeat(2_000)}`,
        /tasks\[33\]: with it the tasks request more than 1000000 resources and requirements/,
      ],
      [
        `${head}requires: {s: [${"{name: a, field: b},".repeat(10_000)}]}\ntasks:\n${"- {command: [x], resources: r, requires: s|s}\n".repeat(2_000)}`,
        /tasks\[49\]: with it the tasks request more than 1000000 resources and requirements/,
      ],
      [
        `${head}requires: {s: [{name: a, field: b}]}\ngroups:\n${Array.from(
          { length: 30 },
          (_, at) =>
            `- {name: g${at}, resources: r, requires: ${"s|".repeat(9)}s, tasks: [{group: g${at + 1}}]}\n`,
        ).join("")}- {name: g30, tasks: [{command: [x]}]}`,
        /groups\[1\]: 100 alternatives of resources and requirements; at most 64/,
      ],
      [
        `version: 1\nresources: {${Array.from({ length: 4_000 }, (_, at) => `${"n".repeat(100)}${at}: {type: core, count: 1}`).join(", ")}}\ntasks:\n${`- {command: [x], resources: ${"m".repeat(60)}}\n`.repeat(4_000)}`,
        /and 3980 more$/,
      ],
      [`${head}tasks: ${"[".repeat(100_000)}`, /is nested more than 64 deep/],
      [`a: ${"x".repeat(2_100_000)}`, /characters; at most 2097152/],
      [
        `version: 1\nresources: {r: &a {type: node, count: 1, with: [*a]}}\ntasks: [{command: [x], resources: r}]`,
        /nested more than 64 deep/,
      ],
    ];
    for (const [text, want] of cases) expect(() => parseJobspec(text)).toThrow(want);
  });

  test("a chain of thousands of dependencies", () => {
    const tasks = Array.from(
      { length: 4_000 },
      (_, at) =>
        `- {name: t${at}, command: [x], local: true, depends_on: [${at > 0 ? `t${at - 1}` : ""}]}`,
    );
    const jobspec = parseJobspec(`version: 1\ntasks:\n${tasks.toReversed().join("\n")}`);
    expect(flattenTasks(jobspec).map(({ task }) => task.name)).toEqual(
      tasks.map((_, at) => `t${at}`),
    );
  });
});
