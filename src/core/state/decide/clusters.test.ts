import { describe, expect, test } from "vitest";

import { checkState, digest, readBack } from "../../../testing/check/check-state.ts";
import { aHello } from "../../../testing/builders.ts";
import { World } from "../../../testing/world.ts";
import { limits } from "../../../limits.ts";
import { parseGraph } from "../../graph/jgf.ts";
import type { Graph } from "../../graph/graph.ts";
import { parseSubsystem } from "../../graph/subsystems/subsystem.ts";
import { aDocument, documentOf, times } from "../../graph/testing/documents.ts";
import { clusterId, nodeId } from "../../model/ids.ts";

const BLUE = clusterId("blue");

const aGraph = (nodes = 2): Graph =>
  parseGraph(
    documentOf({
      type: "cluster",
      inside: times(nodes, { type: "node", inside: [{ type: "core", size: 8 }] }),
    }),
  );

function register(world: World, graph = aGraph(), isUpdate = false): Graph {
  world.do({ kind: "register-cluster", id: BLUE, graph, isUpdate, nowMs: 5 });
  return graph;
}

function addIo(world: World, graph: Graph, vertex = "1"): void {
  const document = aDocument({ io0: "shm" }, [[vertex, "io0"]]);
  const subsystem = parseSubsystem("io", document, graph);
  world.do({ kind: "put-subsystems", id: BLUE, subsystems: [subsystem], graph });
}

const setState = (world: World, patch: Record<string, unknown>): void =>
  world.do({ kind: "set-status", id: BLUE, patch, counters: undefined, nowMs: 9 });

const links = (world: World): unknown =>
  [...(world.state.clusters.subsystem(BLUE, "io")?.links ?? [])].map(([vertex]) => {
    return world.state.clusters.graphs.graph(BLUE).ids[vertex];
  });

describe("registered clusters", () => {
  test("graph, subsystems, state and counters are read back unchanged", () => {
    const world = new World();
    addIo(world, register(world));
    setState(world, { nodes_free: 2, zone: "north", spot: true });
    const counters = [{ key: "nodes_free", by: "nodes" }] as const;
    world.do({
      kind: "set-status",
      id: BLUE,
      patch: { spot: null },
      counters,
      by: "it",
      nowMs: 11,
    });
    expect(world.state.clusters.statusOf(BLUE)).toEqual({
      id: BLUE,
      state: { nodes_free: { value: 2, setAtMs: 9 }, zone: { value: "north", setAtMs: 9 } },
      counters,
      changedBy: "it",
    });
    expect(digest(readBack(world.changes))).toEqual(digest(world.state));
    expect(checkState(world.state)).toEqual([]);
  });

  test("a name is registered once, unless it is an update", () => {
    const world = new World();
    const first = register(world);
    expect(() => register(world)).toThrow("cluster blue already");
    expect(world.state.clusters.graphs.graph(BLUE)).toBe(first);
    const second = register(world, aGraph(3), true);
    expect(world.state.clusters.graphs.graph(BLUE)).toBe(second);
  });

  test("subsystems stay with a new graph that has the vertices they are linked to", () => {
    const world = new World();
    addIo(world, register(world), "3");
    expect(links(world)).toEqual(["3"]);
    register(world, aGraph(5), true);
    expect(links(world)).toEqual(["3"]);
    expect(digest(readBack(world.changes))).toEqual(digest(world.state));
    const before = world.changes.length;
    expect(() => register(world, aGraph(1), true)).toThrow(/subsystem io does not fit.*"3"/);
    expect(world.changes.length).toBe(before);
  });

  test("a subsystem that was read for another graph is rejected", () => {
    const world = new World();
    const old = register(world);
    register(world, aGraph(), true);
    expect(() => addIo(world, old)).toThrow("got another graph");
  });

  test("deleting a subsystem removes it, and a missing one is an error", () => {
    const world = new World();
    addIo(world, register(world));
    world.do({ kind: "remove-subsystem", id: BLUE, name: "io" });
    expect(links(world)).toEqual([]);
    expect(() => world.do({ kind: "remove-subsystem", id: BLUE, name: "io" })).toThrow(
      "cluster blue has no subsystem io",
    );
    expect(digest(readBack(world.changes))).toEqual(digest(world.state));
  });

  test("removing a cluster leaves no row of it", () => {
    const world = new World();
    addIo(world, register(world));
    setState(world, { a: 1 });
    world.do({ kind: "remove-cluster", id: BLUE, nowMs: 1 });
    expect(digest(readBack(world.changes))).toEqual(digest(new World().state));
    expect(() => setState(world, { a: 1 })).toThrow("there is no cluster blue");
    register(world);
    expect(world.state.clusters.statusOf(BLUE).state).toEqual({});
  });

  test("too many subsystems are rejected", () => {
    const world = new World();
    const graph = register(world);
    for (let at = 0; at < limits.subsystemsMax; at++) {
      const subsystem = parseSubsystem(`s${at}`, aDocument({ x: "y" }), graph);
      world.do({ kind: "put-subsystems", id: BLUE, subsystems: [subsystem], graph });
    }
    expect(() => addIo(world, graph)).toThrow("subsystems");
  });
});

describe("managed clusters", () => {
  test("and registered ones have separate names", () => {
    const world = new World();
    world.do({ kind: "connect-node", ...aHello("n1", { cluster: "blue" }) });
    expect(() => register(world)).toThrow("cluster blue is managed");
    expect(() => world.do({ kind: "remove-cluster", id: BLUE, nowMs: 1 })).toThrow("has 1 nodes");
    world.do({ kind: "disconnect-node", nodeId: nodeId("n1"), session: 1, nowMs: 2 });
    world.do({ kind: "remove-node", nodeId: nodeId("n1"), nowMs: 3 });
    world.do({ kind: "remove-cluster", id: BLUE, nowMs: 1 });
    register(world);
    const hello = aHello("n1", { cluster: "blue", session: 2 });
    expect(() => world.do({ kind: "connect-node", ...hello })).toThrow("is a pull cluster");
  });

  test("have a state, without counters", () => {
    const world = new World();
    world.do({ kind: "connect-node", ...aHello("n1", { cluster: "blue" }) });
    setState(world, { power: 5 });
    expect(digest(readBack(world.changes))).toEqual(digest(world.state));
    const counters = [{ key: "power", by: "jobs" }] as const;
    expect(() => world.do({ kind: "set-status", id: BLUE, patch: {}, counters, nowMs: 9 })).toThrow(
      "counters are for pull clusters",
    );
  });

  test("have declared subsystems beside the facts of their agents, and lose only these", () => {
    const world = new World();
    world.do({ kind: "connect-node", ...aHello("n1", { cluster: "blue" }) });
    const row = { id: BLUE, name: "io", entries: [{ node: "n1", entry: { type: "shm" } }] };
    world.do({ kind: "declare-software", row });
    expect(digest(readBack(world.changes))).toEqual(digest(world.state));
    const facts = () =>
      [...world.state.nodes.values()].map(({ node }) => world.state.factsOf(node));
    expect(facts()[0]?.software).toEqual({ io: [{ type: "shm" }] });
    expect(() => world.do({ kind: "remove-subsystem", id: BLUE, name: "os" })).toThrow(
      "cannot be removed",
    );
    world.do({ kind: "remove-subsystem", id: BLUE, name: "io" });
    expect(facts()[0]?.software).toEqual({});
    expect(digest(readBack(world.changes))).toEqual(digest(world.state));
  });
});
