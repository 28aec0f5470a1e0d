import { expect, test } from "vitest";
import { type JobSpecInput, toJobSpec } from "../job-spec.ts";
import { shareTemplate } from "./template-terms.ts";

const fresh = () => ({
  command: ["true"],
  labels: { team: "a" },
  resources: { cpu: 2 },
  env: { A: "1" },
});

test("jobs of a template share its terms, whatever their names", () => {
  const template = shareTemplate(fresh());
  const [one, other] = ["one", "other"].map((name) => toJobSpec({ ...template, name }));
  expect(other?.terms).toBe(one?.terms);
  expect([one?.name, other?.name]).toEqual(["one", "other"]);
  expect(one?.terms).toEqual(toJobSpec({ ...fresh(), name: "one" }).terms);
});

test("a job that differs from its template in anything else has terms of its own", () => {
  const template = shareTemplate(fresh());
  const { env, ...withoutEnv } = template;
  const { terms } = toJobSpec({ ...template, name: "first" });
  const inputs: readonly JobSpecInput[] = [
    { ...template, priority: 3 },
    { ...template, resources: { cpu: 4 } },
    { ...template, env: { ...env } },
    { ...template, labels: { team: "b" } },
    { ...template, labels: undefined },
    { ...template, command: undefined, jobspec: "{}", resources: undefined },
    { ...template, select: { strategy: "random" } },
    withoutEnv,
  ];
  for (const input of inputs) {
    const own = toJobSpec(input);
    expect(own.terms).not.toBe(terms);
    expect(own.terms).toEqual(toJobSpec(structuredClone(input)).terms);
  }
  expect(toJobSpec({ ...template, name: "last" }).terms).toBe(terms);
});

test("a selection is read for each job, because a submission has a limit of them", () => {
  const template = shareTemplate({ ...fresh(), select: { strategy: "random" } });
  const [one, other] = ["one", "other"].map((name) => toJobSpec({ ...template, name }));
  expect(other?.terms).not.toBe(one?.terms);
  expect(other?.terms).toEqual(one?.terms);
});

test("wrong terms are rejected for each job", () => {
  const template = shareTemplate({ ...fresh(), priority: 1.5 });
  for (const name of ["one", "other"]) {
    expect(() => toJobSpec({ ...template, name })).toThrow("priority");
  }
});
