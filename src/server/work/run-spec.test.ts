import { fromBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";

import { JobSpecSchema } from "../../gen/busbar/v1/busbar_pb.ts";
import { aSpec } from "../../testing/builders.ts";
import { World } from "../../testing/world.ts";
import { toRunSpec } from "./run-spec.ts";

test.each([
  ["a node", "node"],
  ["a cluster", "cluster"],
] as const)("the agent of %s receives the requests of a task, to enforce them", (_, reader) => {
  const world = new World();
  const spec = aSpec({ resources: { cpu: 0.5, memory: 32 * 1_024 ** 2 } });
  const submissions = [{ spec, idempotencyKey: undefined }];
  const [given] = world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: 0 });
  const job = given && world.state.jobs.get(given.id)?.job;
  if (job === undefined) throw new Error("no job");
  expect(toRunSpec(job, reader).needs).toEqual({ cpu: 500, memory: 32 * 1_024 ** 2 });
});

test("an agent that submits jobs to another Busbar receives the whole spec, each text once", () => {
  const world = new World();
  const spec = aSpec({
    script: "true",
    env: { A: "1" },
    labels: { run: "7" },
    comment: "for the paper",
    priority: 3,
    nice: 5,
    array: "0-3",
  });
  const submissions = [{ spec, idempotencyKey: undefined }];
  const [given] = world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: 5 });
  const job = given && world.state.jobs.get(given.id)?.job;
  if (job === undefined) throw new Error("no job");
  expect(toRunSpec(job, "cluster").jobSpec).toHaveLength(0);
  const { jobSpec, submittedAtMs, script, env } = toRunSpec(job, "busbar");
  expect({ submittedAtMs, script, env }).toEqual({
    submittedAtMs: 5,
    script: "true",
    env: { A: "1" },
  });
  const told = fromBinary(JobSpecSchema, jobSpec);
  expect(told).toMatchObject({
    labels: { run: "7" },
    comment: "for the paper",
    priority: 3,
    nice: 5,
    array: "0-3",
    env: {},
  });
  expect(told.script).toBeUndefined();
});
