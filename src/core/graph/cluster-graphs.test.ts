import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lammpsClusters, lammpsMatches } from "../../testing/lammps-clusters.ts";
import { sharesOf } from "./match/allocation.ts";
import { ClusterGraphs } from "./cluster-graphs.ts";
import { compileRequest } from "./match/compile-request.ts";
import { parseGraph } from "./jgf.ts";
import { allocate } from "./match/match.ts";
import { parseSubsystem } from "./subsystems/subsystem.ts";
import { documentOf, times } from "./testing/documents.ts";
import { requireOne, slots, want } from "./testing/requests.ts";

const cluster = (nodes: number, cores: number) =>
  parseGraph(
    documentOf({
      type: "cluster",
      inside: times(nodes, { type: "node", inside: times(cores, { type: "core" }) }),
    }),
  );
const ask = (cores: number) => compileRequest([[slots(1, "node", [want(cores, "core")])]]);
const namesOf = (graphs: ClusterGraphs, cores: number, when: "ever" | "now" = "ever") =>
  graphs.satisfy(ask(cores), when).matches.map(({ cluster }) => cluster);
const linkedTo = (graph: ReturnType<typeof cluster>, vertex: string, type: string) => {
  const nodes = { x1: { metadata: { type } } };
  const edges = [{ source: vertex, target: "x1", relation: "contains" }];
  return parseSubsystem("os", { graph: { nodes, edges } }, graph);
};

describe("graphs of clusters", () => {
  test("each cluster matches by its own graph, whichever other clusters are registered", () => {
    const graphs = new ClusterGraphs();
    graphs.put("b", cluster(2, 4));
    graphs.put("a", cluster(2, 4));
    graphs.put("c", cluster(2, 8));
    expect(namesOf(graphs, 4)).toEqual(["a", "b", "c"]);
    expect(namesOf(graphs, 8)).toEqual(["c"]);
    expect(graphs.satisfy(ask(8), "ever").mismatches).toEqual(["a", "b"]);
    graphs.put("a", cluster(1, 8));
    expect(namesOf(graphs, 8)).toEqual(["a", "c"]);
    expect(graphs.delete("c")).toBe(true);
    expect(graphs.delete("c")).toBe(false);
    expect(namesOf(graphs, 8)).toEqual(["a"]);
    expect(graphs.names).toEqual(["a", "b"]);
  });

  test("equal clusters share their shapes, but not the record of use", () => {
    const graphs = new ClusterGraphs();
    for (const name of ["a", "b"]) graphs.put(name, cluster(1, 2));
    expect(graphs.layout("a").shapes).toBe(graphs.layout("b").shapes);
    expect(graphs.layout("a").graph).not.toBe(graphs.layout("b").graph);
    const { allocation } = allocate(graphs.layout("a"), ask(2), graphs.use("a"));
    if (allocation === undefined) throw new Error("does not fit");
    graphs.use("a").add(allocation);
    expect(namesOf(graphs, 1, "now")).toEqual(["b"]);
    expect(namesOf(graphs, 1, "ever")).toEqual(["a", "b"]);
    graphs.use("a").remove(allocation);
    expect(namesOf(graphs, 1, "now")).toEqual(["a", "b"]);
  });

  test("adding a subsystem again replaces it, and deleting it removes its links", () => {
    const graphs = new ClusterGraphs();
    const graph = cluster(2, 1);
    graphs.put("a", graph);
    const withOs = (type: string) => {
      const requires = [requireOne("os", "type", type)];
      return graphs.satisfy(compileRequest([[want(1, "node", [], { requires })]]), "ever").matches
        .length;
    };
    graphs.putSubsystem("a", linkedTo(graph, "0", "rocky"));
    expect([withOs("rocky"), withOs("ubuntu")]).toEqual([1, 0]);
    graphs.putSubsystem("a", linkedTo(graph, "1", "ubuntu"));
    expect([withOs("rocky"), withOs("ubuntu")]).toEqual([0, 1]);
    expect(graphs.deleteSubsystem("a", "os")).toBe(true);
    expect(graphs.deleteSubsystem("a", "os")).toBe(false);
    expect([withOs("rocky"), withOs("ubuntu")]).toEqual([0, 0]);
  });

  test("a new graph keeps the record of use, also for vertices that it does not have", () => {
    const graphs = new ClusterGraphs();
    graphs.put("a", cluster(2, 2));
    const { allocation } = allocate(graphs.layout("a"), ask(2), graphs.use("a"));
    if (allocation === undefined) throw new Error("does not fit");
    const shares = sharesOf(graphs.graph("a"), allocation);
    graphs.use("a").addShares(shares);
    graphs.put("a", cluster(1, 2));
    expect(graphs.satisfy(ask(1), "now").matches).toEqual([]);
    expect(graphs.explain("a", ask(1), "now").map(({ kind }) => kind)).toEqual(["busy"]);
    expect(graphs.explain("a", ask(3), "now").map(({ kind }) => kind)).toEqual(["too-small"]);
    graphs.put("a", parseGraph(documentOf({ type: "node", id: "n" })));
    expect(graphs.use("a").isEmpty).toBe(true);
    graphs.put("a", cluster(1, 2));
    expect(graphs.satisfy(ask(1), "now").matches).toEqual([]);
    graphs.use("a").removeShares(shares);
    expect(namesOf(graphs, 2, "now")).toEqual(["a"]);
    expect([...graphs.use("a").entries()]).toEqual([]);
  });

  test("a cluster that shrank below its use has nothing free", () => {
    const graphs = new ClusterGraphs();
    const pool = (size: number) =>
      parseGraph(documentOf({ type: "node", inside: [{ type: "core", size }] }));
    graphs.put("a", pool(8));
    graphs.use("a").addShares([{ id: "1", amount: 6 }]);
    expect(namesOf(graphs, 2, "now")).toEqual(["a"]);
    graphs.put("a", pool(4));
    expect(namesOf(graphs, 1, "now")).toEqual([]);
    expect(graphs.satisfy(ask(1), "ever").matches).toHaveLength(1);
  });

  test("an unknown cluster is rejected by name", () => {
    expect(() => new ClusterGraphs().layout("x")).toThrow(
      expect.objectContaining({ field: "cluster" }),
    );
  });

  test("the order in which clusters are added does not matter", () => {
    const sizes = fc.array(
      fc.tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 4 })),
      {
        maxLength: 6,
      },
    );
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 4 }), (all, cores) => {
        const [one, other] = [new ClusterGraphs(), new ClusterGraphs()];
        const entries = all.map(([nodes, each], at) => [`c${at}`, cluster(nodes, each)] as const);
        for (const [name, graph] of entries) one.put(name, graph);
        for (const [name, graph] of entries.toReversed()) other.put(name, graph);
        expect(other.satisfy(ask(cores), "now")).toEqual(one.satisfy(ask(cores), "now"));
        expect(one.satisfy(ask(cores), "ever").matches.length).toBe(
          all.filter(([, each]) => each >= cores).length,
        );
      }),
    );
  });
});

describe("48 clusters with different metadata", () => {
  const graphs = new ClusterGraphs();
  const clusters = lammpsClusters();
  for (const { name, graph, subsystems } of clusters) {
    graphs.put(name, parseGraph(graph));
    for (const [subsystem, document] of subsystems) {
      graphs.putSubsystem(name, parseSubsystem(subsystem, document, graphs.graph(name)));
    }
  }
  for (const [asked, expected] of lammpsMatches) {
    test(`${asked.join(" + ") || "nothing asked"}: ${expected} match, and they are the right ones`, () => {
      for (const { has } of clusters) {
        const requires = asked.map((name) => requireOne(name, "type", has[name] ?? ""));
        const request = compileRequest([[want(2, "node", [want(2, "core")], { requires })]]);
        const { matches } = graphs.satisfy(request, "ever");
        expect(matches).toHaveLength(expected);
        const right = clusters.filter((other) =>
          asked.every((name) => other.has[name] === has[name]),
        );
        expect(matches.map(({ cluster }) => cluster)).toEqual(right.map(({ name }) => name).sort());
      }
    });
  }
});
