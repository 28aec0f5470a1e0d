import { expect, test } from "vitest";
import { toJobSpec } from "../../core/model/job/job-spec.ts";
import { limits } from "../../limits.ts";
import { toSubmission, toTemplate } from "./translate.ts";

const definition = (cpu: string): string =>
  JSON.stringify({
    apiVersion: "v0",
    kind: "Pod",
    name: "web",
    spec: {
      containers: [{ name: "web", image: "nginx:latest", resources: { requests: { cpu } } }],
    },
  });

test("each instance has the terms of its own controller, workload and definition", () => {
  const workloads = [
    { controller: "a", workloadId: "1 b", definition: definition("1") },
    { controller: "a 1", workloadId: "b", definition: definition("1") },
    { controller: "a", workloadId: "1 b", definition: definition("2") },
    ...Array.from({ length: limits.rikTemplatesMax }, (_, at) => ({
      controller: "many",
      workloadId: `w${at}`,
      definition: definition("1"),
    })),
  ];
  for (const workload of [...workloads, ...workloads]) {
    const [one, other] = ["i1", "i2"].map((id) =>
      toJobSpec(toSubmission({ ...workload, id }).spec),
    );
    expect(other?.terms).toBe(one?.terms);
    expect(one).toEqual(toJobSpec({ ...toTemplate(workload), name: "i1" }));
    expect([one?.name, other?.name]).toEqual(["i1", "i2"]);
  }
});
