import { expect, test } from "vitest";
import { aHello, aSpec } from "../../testing/builders.ts";
import { anObedientAgent } from "../../testing/fake-agent.ts";
import { aPlane } from "../../testing/plane.ts";
import { checkState } from "../../testing/check/check-state.ts";
import { World } from "../../testing/world.ts";
import { nodeId } from "../../core/model/ids.ts";
import type { NodeRecord } from "../../core/scheduler/nodes/node-record.ts";
import { findNodes } from "./node-operations.ts";

function aWorld(nodes: number): World {
  const world = new World();
  for (let at = nodes; at > 0; at--) {
    const name = `n${String(at).padStart(5, "0")}`;
    const hello = aHello(name, { cluster: at % 2 === 0 ? "even" : "odd", session: at });
    world.do({ kind: "connect-node", ...hello });
  }
  return world;
}

/** The list; it counts the nodes that are read. */
function counting(list: readonly NodeRecord[]): {
  list: readonly NodeRecord[];
  reads: () => number;
} {
  let reads = 0;
  const get = (target: readonly NodeRecord[], name: string | symbol): unknown => {
    if (typeof name === "string" && /^\d+$/.test(name)) reads++;
    return Reflect.get(target, name);
  };
  return { list: new Proxy(list, { get }), reads: () => reads };
}

test("a page reads its own nodes only, wherever it begins", () => {
  const { list, reads } = counting(aWorld(2_000).state.nodesByName.all);
  const page = findNodes(list, { after: "n01500" }, 11);
  expect(page.map(({ node }) => node.id)).toEqual(
    Array.from({ length: 11 }, (_, at) => `n0${1_501 + at}`),
  );
  expect(reads()).toBeLessThanOrEqual(11 + 12); // and a search for its beginning
});

test("pages together are all nodes of a filter, in order", () => {
  const { state } = aWorld(50);
  const seen: string[] = [];
  for (let after: string | undefined; ; after = seen.at(-1)) {
    const page = findNodes(state.nodesByName.all, { after, cluster: "even" }, 7);
    if (page.length === 0) break;
    seen.push(...page.map(({ node }) => node.id));
  }
  const even = [...state.nodes.values()].filter(({ node }) => node.cluster === "even");
  expect(seen).toEqual(even.map(({ node }) => node.id).sort());
});

test("adding or removing a node keeps the order, and searches for that node only", () => {
  const world = aWorld(2_000);
  const { nodesByName } = world.state;
  const names = (): string[] => nodesByName.all.map(({ node }) => node.id);
  const before = names();
  const { comparisons } = nodesByName;
  world.do({ kind: "drain-node", nodeId: nodeId("n00001"), drain: { reason: "" } });
  expect(nodesByName.comparisons).toBe(comparisons);
  world.do({ kind: "connect-node", ...aHello("n01000-b", { session: 9_999 }) });
  expect(names().indexOf("n01000-b")).toBe(1_000);
  world.do({ kind: "disconnect-node", nodeId: nodeId("n01000-b"), session: 9_999, nowMs: 1 });
  world.do({ kind: "remove-node", nodeId: nodeId("n01000-b"), nowMs: 2 });
  expect(names()).toEqual(before);
  expect(nodesByName.comparisons - comparisons).toBeLessThanOrEqual(2 * 13);
});

test("node totals follow drains, tasks and lost links", () => {
  const world = aWorld(3);
  const spec = aSpec({ resources: { cpu: 1 }, placement: { node: "n00002" } });
  const submissions = [{ spec, idempotencyKey: undefined }];
  world.do({ kind: "submit-jobs", submissions, by: "t", nowMs: 0 });
  const [task] = world.plan();
  const { nodeTotals } = world.state;
  expect(nodeTotals.used).toMatchObject({ cpu: 1_000 });
  world.do({ kind: "drain-node", nodeId: nodeId("n00002"), drain: { reason: "" } });
  expect(nodeTotals.states).toMatchObject({ connected: 2, draining: 1, drained: 0 });
  world.report("n00002", [task?.jobId ?? 0, 0, 1], 0);
  expect(nodeTotals.states).toMatchObject({ connected: 2, draining: 0, drained: 1 });
  expect(nodeTotals.used).toEqual({});
  world.do({ kind: "disconnect-node", nodeId: nodeId("n00001"), session: 1, nowMs: 1 });
  expect(nodeTotals.states).toMatchObject({ connected: 1, disconnected: 1, drained: 1 });
  expect(checkState(world.state)).toEqual([]);
});

test("stats read no node", async () => {
  const { plane } = await aPlane();
  await anObedientAgent(plane, 3);
  plane.state.nodes.values = () => {
    throw new Error("stats walk over all nodes");
  };
  const { nodes, capacity } = await plane.operations.stats();
  expect(nodes.connected).toBe(1);
  expect(capacity["cpu"]).toBeGreaterThan(0);
  await plane.close();
});
