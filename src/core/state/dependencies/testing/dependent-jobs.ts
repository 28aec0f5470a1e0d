import { aHello, aSpec } from "../../../../testing/builders.ts";
import { allJobs } from "../../checks/all-jobs.ts";
import { World } from "../../../../testing/world.ts";
import type { JobSpecInput } from "../../../model/job/job-spec.ts";

export const aWorld = (): World => {
  const world = new World();
  world.do({ kind: "connect-node", ...aHello("n", { capacity: { cpu: 1_000_000 } }) });
  return world;
};

export function tick(world: World, finishedTasksMax: number): void {
  const finishedAgeMsMax = finishedTasksMax === 0 ? 0 : 1_000_000_000;
  const settings = { nodeLostAfterMs: 1e9, finishedTasksMax, finishedAgeMsMax };
  world.do({ kind: "tick", nowMs: world.nowMs, settings });
}

export function statesOf(world: World): Map<number, string> {
  return new Map(
    [...allJobs(world.state)].map(({ job, progress }) => [
      job.id,
      job.waitsFor !== undefined && progress.state === "pending" ? "held" : progress.state,
    ]),
  );
}

export const submit = (
  world: World,
  ...specs: readonly Partial<JobSpecInput>[]
): readonly number[] =>
  world
    .do({
      kind: "submit-jobs",
      submissions: specs.map((spec) => ({ spec: aSpec(spec), idempotencyKey: undefined })),
      by: "t",
      nowMs: world.nowMs,
    })
    .map(({ id }) => id);

export const stateOfJob = (world: World, id: number): string | undefined => statesOf(world).get(id);
