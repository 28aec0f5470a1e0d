import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { eventually } from "../../testing/eventually.ts";
import { FakeAgent } from "../../testing/fake-agent.ts";
import { aPlane, type TestPlane } from "../../testing/plane.ts";
import { NodeGraphs } from "../../core/scheduler/nodes/node-graphs.ts";
import { cores } from "../../core/scheduler/testing/worlds.ts";
import { limits } from "../../limits.ts";

const SLICES = 4;
const NODES = SLICES * limits.matchesPerSliceMax;
const allowed = { allowUnsatisfiable: true };

let plane: TestPlane;
/** Nodes that all differ. */
beforeEach(async () => {
  plane = (await aPlane()).plane;
  for (let at = 0; at < NODES; at++) {
    const agent = new FakeAgent(plane);
    agent.hello(`n${at}`, { capacity: { cpu: 4_000, memory: 1_000 + at } });
  }
  const areThere = async (): Promise<boolean> =>
    (await plane.operations.stats()).agentSessions === NODES;
  await eventually(areThere, { what: "all nodes are there" });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await plane.close();
});

/** The largest number of node graphs made in one turn of the thread, until `work` is done. */
async function graphsPerTurn(work: () => Promise<unknown>): Promise<number> {
  const made = vi.spyOn(NodeGraphs.prototype, "of");
  let [most, before, isDone] = [0, 0, false];
  const turn = (): void => {
    most = Math.max(most, made.mock.calls.length - before);
    before = made.mock.calls.length;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isDone = true;
  turn();
  expect(made.mock.calls.length).toBe(NODES);
  return most;
}

const job = { spec: { command: ["true"], request: cores(9) } };

describe("graphs of nodes are made and matched a slice at a time", () => {
  const works: Readonly<Record<string, () => Promise<unknown>>> = {
    "for a dry run": async () => {
      const tried = await plane.operations.tryJobs({ kind: "jobs", jobs: [job] });
      expect(tried.jobs[0]).toMatchObject({ possible: false, waiting: 1 });
      expect(tried.jobs[0]?.reasons.length).toBeGreaterThan(0);
    },
    "for a submission": async () => {
      const { jobs } = await plane.operations.submitJobs([job], allowed);
      expect(jobs[0]?.warning).toContain("no registered node or cluster can run this job");
      const { reasons } = await plane.operations.explainJob("1");
      expect(reasons.reduce((sum, { nodes }) => sum + nodes, 0)).toBe(NODES);
    },
  };
  for (const [name, work] of Object.entries(works)) {
    test(name, async () => {
      expect(await graphsPerTurn(work)).toBeLessThanOrEqual(2 * limits.matchesPerSliceMax);
    });
  }
});
