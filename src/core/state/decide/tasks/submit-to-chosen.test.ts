import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { aSpec } from "../../../../testing/builders.ts";
import { checkState, digest, readBack } from "../../../../testing/check/check-state.ts";
import { World } from "../../../../testing/world.ts";
import { parseGraph } from "../../../graph/jgf.ts";
import { documentOf, times } from "../../../graph/testing/documents.ts";
import { invariant } from "../../../../lib/invariant.ts";
import { limits } from "../../../../limits.ts";
import { clusterId, jobId } from "../../../model/ids.ts";
import type { JobSpec } from "../../../model/job/job.ts";
import type { ChosenSubmission } from "../../chosen-submission.ts";
import { inCluster } from "../../jobs/cluster-specs.ts";
import { encodeJob } from "../../jobs/job-codec.ts";

const NAMES = ["a", "b", "c"] as const;
const NODE = { type: "node", inside: [{ type: "core", size: 8 }] };
const request = (nodes: number) => [
  [
    {
      type: "node",
      count: nodes,
      unit: undefined,
      isSlot: false,
      isExclusive: false,
      label: undefined,
      requires: [],
      with: [],
    },
  ],
];

const register = (world: World, name: string, nodes = 4): unknown => {
  const graph = parseGraph(documentOf({ type: "cluster", inside: times(nodes, NODE) }));
  const id = clusterId(name);
  return world.do({ kind: "register-cluster", id, graph, isUpdate: false, nowMs: world.nowMs });
};

const remove = (world: World, name: string): unknown =>
  world.do({ kind: "remove-cluster", id: clusterId(name), by: "me", nowMs: world.nowMs });

/** Like a door whose answers are of an older version: they are computed again. */
function submit(
  world: World,
  names: readonly string[],
  nodes = 1,
  spec = aSpec({ placement: { kind: "pulling" } }),
): ChosenSubmission {
  const answer = world.do({
    kind: "submit-to-chosen",
    submission: { spec, idempotencyKey: undefined },
    resources: [request(nodes)],
    names,
    choosing: { strategy: "first", options: {}, parameters: {} },
    prepared: { version: "", answers: [] },
    fraction: 0,
    nowMs: world.nowMs,
  });
  world.plan();
  return answer;
}

/** The cluster that the only task of a job is offered to or accepted by, or how the job ended. */
function placeOf({ state }: World, id: number): unknown {
  const record = state.jobs.get(jobId(id));
  const task = record?.task(0)?.state;
  if (task?.kind === "offered" || task?.kind === "accepted") return task.cluster;
  return record?.progress.state;
}

describe("a job for one of several clusters", () => {
  test("goes to the first that could run it, in one decision", () => {
    const world = new World();
    register(world, "a", 1);
    register(world, "b", 4);
    expect(submit(world, ["a", "b"], 2)).toMatchObject({ kind: "submitted", cluster: "b", id: 1 });
    expect(placeOf(world, 1)).toBe("b");
    expect(world.state.jobs.get(jobId(1))?.job.submittedBy).toBe("submitter:b");
    const before = world.changes.length;
    expect(submit(world, ["a"], 2)).toMatchObject({ kind: "none" });
    expect(submit(world, ["nobody"])).toMatchObject({ kind: "none" });
    expect(world.changes.length).toBe(before);
  });

  test("moves to the next that could when its cluster is deleted, and ends when none is left", () => {
    const world = new World();
    for (const name of NAMES) register(world, name, name === "b" ? 1 : 4);
    submit(world, NAMES, 2);
    submit(world, ["a"], 2);
    expect(placeOf(world, 1)).toBe("a");
    world.restart();
    remove(world, "a");
    world.plan();
    expect([placeOf(world, 1), placeOf(world, 2)]).toEqual(["c", "cancelled"]);
    register(world, "a");
    world.plan();
    expect([placeOf(world, 1), placeOf(world, 2)]).toEqual(["c", "cancelled"]);
    remove(world, "c");
    expect(placeOf(world, 1)).toBe("cancelled");
    expect(world.state.jobs.get(jobId(1))?.job.closed).toMatchObject({
      reason: "cluster c was deleted",
      by: "me",
    });
    expect(checkState(world.state)).toEqual([]);
  });

  test("jobs with one spec share it in each cluster, and their rows are those of jobs that share nothing", () => {
    const world = new World();
    for (const name of NAMES) register(world, name);
    const jobspec = (name: string, text = '{"version": 1}\n'): JobSpec =>
      aSpec({ name, command: undefined, jobspec: text });
    const long = jobspec("long", "x".repeat(limits.sharedSpecCharsMax + 1));
    const [one, other] = [jobspec("one"), jobspec("other")];
    const others = Array.from({ length: limits.knownClusterSpecsMax }, () => jobspec("any"));
    const specs = [one, other, long, one, other, long, ...others, one, other, long];
    for (const spec of specs) for (const name of NAMES) submit(world, [name], 1, spec);
    const jobs = Array.from(world.state.jobs.openRecords(), ({ job }) => job);
    const expected = specs.flatMap((spec) => NAMES.map((cluster) => inCluster(spec, cluster)));
    expect(jobs.map(({ spec }) => [spec.name, spec.where.cluster, spec.work])).toEqual(
      expected.map(({ name, where, work }) => [name, where.cluster, work]),
    );
    const after = 3 * NAMES.length;
    expect(jobs[after]?.spec).toBe(jobs[0]?.spec);
    expect(jobs.at(-after)?.spec).not.toBe(jobs[0]?.spec);
    for (const [at, job] of jobs.entries()) {
      const alone = expected[at];
      invariant(alone !== undefined, "one spec for each job");
      for (const row of [job, { ...job, alternatives: ["b"] }]) {
        expect(encodeJob(row)).toBe(encodeJob({ ...row, spec: alone }));
      }
    }
    expect(digest(readBack(world.changes))).toEqual(digest(world.state));
  });

  test("whatever is registered and deleted, it is with one of its clusters, and rows agree", () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant("cluster" as const), name: fc.constantFrom(...NAMES) }),
      fc.record({ kind: fc.constant("submit" as const), names: fc.subarray([...NAMES]) }),
      fc.record({ kind: fc.constant("restart" as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 14 }), (steps) => {
        const world = new World();
        const allowed = new Map<number, readonly string[]>();
        for (const next of steps) {
          if (next.kind === "restart") world.restart();
          else if (next.kind === "submit") {
            const answer = submit(world, next.names);
            if (answer.kind === "submitted") allowed.set(answer.id, next.names);
          } else if (world.state.clusters.get(clusterId(next.name)) === undefined) {
            register(world, next.name);
          } else remove(world, next.name);
          world.plan();
          for (const [id, names] of allowed) {
            expect(["cancelled", ...names]).toContain(placeOf(world, id));
          }
          expect(checkState(world.state)).toEqual([]);
        }
        expect(digest(readBack(world.changes))).toEqual(digest(world.state));
      }),
      { numRuns: 60 },
    );
  });
});
