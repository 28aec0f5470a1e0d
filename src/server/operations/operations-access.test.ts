import { describe, expect, test } from "vitest";
import { LOCAL, type Principal } from "../../core/access/principal.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { NEEDS } from "./needs.ts";
import type { CallerOperations, Operations } from "./operations.ts";
import { guardOperations } from "./operations-access.ts";

type Name = keyof Operations;
type Run = (...args: readonly unknown[]) => unknown;
const NAMES = Object.keys(NEEDS) as Name[];

/** Operations that only record the principal and the arguments. */
function noting() {
  const noted: unknown[] = [];
  const operations = Object.fromEntries(
    NAMES.map((name) => [name, (...args: unknown[]) => void noted.push([name, ...args])]),
  ) as unknown as CallerOperations;
  const submitters: Readonly<Record<string, string>> = { "1": "submitter:blue", "2": "local" };
  const access = guardOperations(operations, { submitterOf: (id) => submitters[id] });
  return { noted, access };
}

async function refusalOf(run: () => unknown): Promise<unknown> {
  try {
    return await run();
  } catch (error) {
    return error instanceof AppError ? error.code : error;
  }
}

describe("every operation", () => {
  for (const name of NAMES) {
    test(`${name} rejects principals without its permission, before anything happens`, async () => {
      const { access, noted } = noting();
      const run = access.as({ kind: "agent", node: "w1" })[name] as Run;
      expect(await refusalOf(() => run({}, {}))).toBe("permission_denied");
      expect(noted).toEqual([]);
    });

    test(`${name} runs in the name of a principal with its permission`, () => {
      const { access, noted } = noting();
      (access.as(LOCAL)[name] as Run)("first", "second");
      expect(noted).toEqual([[name, { name: "local" }, "first", "second"]]);
    });
  }
});

describe("with permission for own resources only", () => {
  const blue: Principal = { kind: "cluster", cluster: "blue" };
  const submitter: Principal = { kind: "submitter", clusters: ["blue"] };
  const into = (cluster?: string) => [{ spec: { placement: { cluster } } }];
  const graph = { name: "io", document: {} };
  const cases: readonly [string, Principal, (to: Operations) => unknown, boolean][] = [
    ["its state", blue, (to) => to.setClusterState({ cluster: "blue", values: {} }), true],
    ["another's state", blue, (to) => to.setClusterState({ cluster: "red", values: {} }), false],
    ["its subsystem", blue, (to) => to.addSubsystem({ cluster: "blue", ...graph }), true],
    ["another's subsystem", blue, (to) => to.addSubsystem({ cluster: "red", ...graph }), false],
    ["its tasks", blue, (to) => to.acceptTasks("blue", ["1"]), true],
    ["another's tasks", blue, (to) => to.acceptTasks("red", ["1"]), false],
    ["itself", blue, (to) => to.deleteCluster("blue"), true],
    ["another cluster", blue, (to) => to.deleteCluster("red"), false],
    ["a job submitted to it", blue, (to) => to.cancelJob("1", ""), true],
    ["another job", blue, (to) => to.cancelJob("2", ""), false],
    ["no job", blue, (to) => to.cancelJob("3", ""), false],
    ["all jobs", blue, (to) => to.listJobs({}, {}), false],
    ["a job for its cluster", submitter, (to) => to.submitJobs(into("blue")), true],
    [
      "a job for another",
      submitter,
      (to) => to.submitJobs([...into("blue"), ...into("red")]),
      false,
    ],
    ["a job for any", submitter, (to) => to.submitJobs(into()), false],
    ["a jobspec", submitter, (to) => to.submitJobspec({ jobspec: "" }), false],
  ];
  for (const [name, principal, run, isAllowed] of cases) {
    test(`${name}: ${isAllowed ? "allowed" : "refused"}`, async () => {
      const { access, noted } = noting();
      const refusal = await refusalOf(() => run(access.as(principal)));
      expect([refusal, noted.length]).toEqual(
        isAllowed ? [undefined, 1] : ["permission_denied", 0],
      );
    });
  }
});

test("equal principals share prepared operations, of which a bounded number is retained", () => {
  const { access } = noting();
  const first = access.as({ kind: "cluster", cluster: "blue" });
  expect(access.as({ kind: "cluster", cluster: "blue" })).toBe(first);
  expect(access.as({ kind: "submitter", clusters: ["blue"] })).not.toBe(first);
  for (let at = 0; at < limits.knownPrincipalsMax; at++) {
    access.as({ kind: "cluster", cluster: `c${at}` });
  }
  expect(access.as({ kind: "cluster", cluster: "blue" })).not.toBe(first);
});
