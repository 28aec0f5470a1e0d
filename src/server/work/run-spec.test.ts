import { expect, test } from "vitest";

import { aSpec } from "../../testing/builders.ts";
import { World } from "../../testing/world.ts";
import { toRunSpec } from "./run-spec.ts";

test.each([
  ["a node", false],
  ["a cluster", true],
] as const)("the agent of %s learns what a task asks for, to enforce it", (_, isForCluster) => {
  const world = new World();
  const spec = aSpec({ resources: { cpu: 0.5, memory: 32 * 1_024 ** 2 } });
  const submissions = [{ spec, idempotencyKey: undefined }];
  const [given] = world.do({ kind: "submit-jobs", submissions, by: "me", nowMs: 0 });
  const job = given && world.state.jobs.get(given.id)?.job;
  if (job === undefined) throw new Error("no job");
  expect(toRunSpec(job, isForCluster).needs).toEqual({ cpu: 500, memory: 32 * 1_024 ** 2 });
});
