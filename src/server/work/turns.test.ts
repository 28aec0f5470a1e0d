import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseGraph, renderJgf, toJgf } from "../../core/graph/jgf.ts";
import { layOut } from "../../core/graph/layout.ts";
import { matchWork } from "../../core/graph/match/match-work.ts";
import { documentOf, times } from "../../core/graph/testing/documents.ts";
import { limits } from "../../limits.ts";
import { aPlane, type TestPlane } from "../../testing/plane.ts";
import { turnsDuring } from "../../testing/turns.ts";
import type { Operations, SubmissionInput } from "../operations/operations.ts";

let plane: TestPlane;
let operations: Operations;
beforeEach(async () => {
  ({ plane } = await aPlane());
  ({ operations } = plane);
});
afterEach(() => plane.close());

const ref = { cluster: "blue", name: "io" };

test("a large graph is rendered in slices", async () => {
  const slices = 4;
  const inside = times(slices * limits.verticesPerSliceMax, { type: "node" });
  const graph = parseGraph(documentOf({ type: "cluster", inside }));
  const rendering = renderJgf(graph);
  let yields = 0;
  let last = rendering.next();
  for (; last.done !== true; last = rendering.next()) yields += 1;
  expect(yields).toBe(slices);
  expect(JSON.parse(last.value)).toEqual(toJgf(graph));

  await operations.registerCluster({
    name: "wide",
    graph: documentOf({ type: "cluster", inside }),
  });
  const rendered = operations.getClusterGraph("wide");
  const turns = await turnsDuring(rendered);
  expect(await rendered).toBe(last.value);
  expect(turns).toBeGreaterThanOrEqual(slices - 1);
  expect(turns).toBeLessThan(100);
});

describe("other work has its turn while a large subsystem", () => {
  const NODES = 30_000;
  const large = () => {
    const all = Array.from({ length: NODES }, (_, at) => at);
    const nodes = Object.fromEntries(all.map((at) => [`v${at}`, { metadata: { type: "node" } }]));
    return { graph: { nodes, edges: [] } };
  };
  const packages = (count: number) => {
    const all = Array.from({ length: count }, (_, at) => at);
    const nodes = Object.fromEntries(
      all.map((at) => [`p${at}`, { metadata: { type: "package", version: `1.${at}` } }]),
    );
    const link = (at: number) => ({ source: `v${at}`, target: `p${at}`, relation: "contains" });
    return { graph: { nodes, edges: all.map(link) } };
  };

  test("is linked, shown, moved to another graph and removed", async () => {
    const count = 20_000;
    const least = count / limits.verticesPerSliceMax;
    await operations.registerCluster({ name: "blue", graph: large() });
    const added = operations.addSubsystem({ ...ref, document: packages(count) });
    expect(await turnsDuring(added)).toBeGreaterThan(2 * least); // vertices, then their row
    expect((await added).subsystems).toEqual([{ name: "io", vertices: count, links: count }]);
    expect(await turnsDuring(operations.getSubsystem(ref))).toBeGreaterThanOrEqual(2 * least - 2);
    const again = operations.registerCluster({ name: "blue", graph: large(), isUpdate: true });
    expect(await turnsDuring(again)).toBeGreaterThan(least);
    expect((await again).cluster.subsystems).toEqual((await added).subsystems);
  });

  test("and the layout that a match needs exists when the change is decided", async () => {
    await operations.registerCluster({ name: "blue", graph: large() });
    await operations.addSubsystem({ ...ref, document: packages(3) });
    const { graphs } = plane.state.clusters;
    const isPrepared = () => {
      const [graph, subsystems] = [graphs.graph("blue"), graphs.subsystems("blue")];
      return layOut(graph, subsystems) === layOut(graph, subsystems); // computed again otherwise
    };
    expect(isPrepared()).toBe(true);
    await operations.addSubsystem({ ...ref, name: "other", document: packages(5) });
    expect(isPrepared()).toBe(true);
    await Promise.all([
      operations.addSubsystem({ ...ref, document: packages(4) }),
      operations.removeSubsystem({ ...ref, name: "other" }),
    ]);
    expect([...graphs.subsystems("blue").keys()]).toEqual(["io"]);
    expect(isPrepared()).toBe(true);
    await operations.registerCluster({ name: "blue", graph: large(), isUpdate: true });
    expect(isPrepared()).toBe(true);
  });

  test("and one that makes the graph too irregular is rejected", async () => {
    const count = limits.graphShapesMax + 10;
    const all = Array.from({ length: count }, (_, at) => at);
    const nodes = Object.fromEntries(all.map((at) => [`v${at}`, { metadata: { type: "node" } }]));
    await operations.registerCluster({ name: "blue", graph: { graph: { nodes } } });
    await expect(operations.addSubsystem({ ...ref, document: packages(count) })).rejects.toThrow(
      "graph.edges: too many different vertices",
    );
    expect((await operations.getCluster("blue")).subsystems).toEqual([]);
  });
});

describe("other work has its turn", () => {
  const count = 8 * limits.jobsPerSliceMax;

  test("while a jobspec of many tasks becomes jobs", async () => {
    const tasks = Array.from({ length: count }, (_, at) => ({
      name: `t${at}`,
      command: ["true"],
      resources: "one",
    }));
    const resources = { one: { type: "node", count: 1 } };
    const text = JSON.stringify({ version: 1, resources, tasks });
    // The check of jobs rejects the last one, so the loop gets no command.
    const attributes = { environment: { BUSBAR_TASK_ID: "1" } };
    const lastIsWrong = [...tasks.slice(1), { ...tasks[0], attributes }];
    const wrong = JSON.stringify({ version: 1, resources, tasks: lastIsWrong });
    const turns = await turnsDuring(
      expect(operations.submitJobspec({ jobspec: wrong })).rejects.toThrow("BUSBAR_TASK_ID"),
    );
    expect(turns).toBeGreaterThanOrEqual(6);
    expect(await turnsDuring(operations.submitJobspec({ jobspec: text }))).toBeGreaterThanOrEqual(
      12,
    );
  });

  /** A cluster whose nodes differ from each other: the matcher compares each request with all of them. */
  const irregular = (nodes: number): unknown => {
    const inside = Array.from({ length: nodes }, (_, at) => ({
      type: "node",
      inside: [{ type: "core", size: at + 1 }],
    }));
    return documentOf({ type: "cluster", inside });
  };
  const asking = (cores: number): SubmissionInput => ({
    spec: {
      command: ["true"],
      request: [[{ type: "node", with: [{ type: "core", count: cores }] }]],
    },
  });

  test("while many different requests are compared with a graph", async () => {
    await operations.registerCluster({ name: "odd", graph: irregular(3_000) });
    const jobs = Array.from({ length: 60 }, (_, at) => asking(at + 1));
    const stepsBefore = matchWork.steps;
    let most = 0;
    let last = matchWork.steps;
    let isOver = false;
    const watch = (): void => {
      most = Math.max(most, matchWork.steps - last);
      last = matchWork.steps;
      if (!isOver) setImmediate(watch);
    };
    setImmediate(watch);
    const submitted = await operations.submitJobs(jobs).finally(() => (isOver = true));
    expect(submitted.jobs).toHaveLength(60);
    expect(matchWork.steps - stepsBefore).toBeGreaterThan(3 * limits.stepsPerSliceMax);
    // A slice, a round of the planner, and the one graph by which each may exceed its limit.
    expect(most).toBeLessThan(3 * limits.stepsPerSliceMax);
  });

  test("until one submission has taken too many steps, and none of it is submitted", async () => {
    await operations.registerCluster({ name: "odd", graph: irregular(3_000) });
    const jobs = Array.from({ length: 2_000 }, (_, at) => asking(at + 1));
    const refusal = { code: "exhausted", message: expect.stringContaining("different requests") };
    await expect(operations.submitJobs(jobs)).rejects.toMatchObject(refusal);
    await expect(operations.tryJobs({ kind: "jobs", jobs })).rejects.toMatchObject(refusal);
    expect((await operations.listJobs({}, {})).jobs).toEqual([]);
    // Equal requests cost one, and known results cost nothing.
    const equal = jobs.map(() => asking(7));
    expect((await operations.submitJobs(equal)).jobs).toHaveLength(2_000);
  });

  test("while many jobs are checked", async () => {
    const jobs = Array.from({ length: count }, () => ({ spec: { command: ["true"] } }));
    const last = { spec: { command: [] } };
    const refused = operations.submitJobs([...jobs, last]);
    const turns = await turnsDuring(expect(refused).rejects.toThrow(`jobs[${count}].command`));
    expect(turns).toBeGreaterThanOrEqual(6);
  });
});
