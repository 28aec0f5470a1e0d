import { describe, expect, test } from "vitest";
import { sharesOf, verticesOfType } from "./allocation.ts";
import { compileRequest } from "./compile-request.ts";
import { clusterGraph } from "../facts.ts";
import { parseGraph } from "../jgf.ts";
import { layOut } from "../layout.ts";
import { allocate, match } from "./match.ts";
import type { ResourceRequest } from "../request/request.ts";
import { parseSubsystem } from "../subsystems/subsystem.ts";
import { documentOf, times } from "../testing/documents.ts";
import { requireOne, slots, want } from "../testing/requests.ts";
import { Use } from "./use.ts";
import { verifyAllocation } from "./verify.ts";
import { cluster, fits, layoutOf, node, small } from "../testing/small-cluster.ts";

describe("4 nodes with 2 cores each", () => {
  const cases: readonly [string, readonly ResourceRequest[], boolean, number][] = [
    ["1 node with 2 cores", [want(1, "node", [want(2, "core")])], true, 4],
    ["4 nodes", [want(4, "node")], true, 1],
    ["a rack with 4 nodes", [want(1, "rack", [want(4, "node")])], true, 1],
    ["1 node with 3 cores: cores are not pooled", [want(1, "node", [want(3, "core")])], false, 0],
    ["1 node with 8 cores", [want(1, "node", [want(8, "core")])], false, 0],
    ["5 nodes", [want(5, "node")], false, 0],
    ["a gpu", [want(1, "gpu")], false, 0],
    ["a type with a typing mistake", [want(1, "cores")], false, 0],
    ["4 slots of a node with 2 cores", [slots(4, "node", [want(2, "core")])], true, 4],
    ["5 slots of a node with 2 cores", [slots(5, "node", [want(2, "core")])], false, 4],
    [
      "5 slots of a node with 1 core: a node is one",
      [slots(5, "node", [want(1, "core")])],
      false,
      4,
    ],
    ["8 places with 1 core", [slots(8, "slot", [want(1, "core")])], true, 8],
    ["9 places with 1 core", [slots(9, "slot", [want(1, "core")])], false, 8],
    ["a place never spreads over nodes", [slots(1, "slot", [want(3, "core")])], false, 0],
    ["2 racks", [want(2, "rack")], false, 0],
    ["4 nodes and 4 more", [want(4, "node"), want(4, "node")], false, 1],
    ["2 nodes and 2 more", [want(2, "node"), want(2, "node")], true, 2],
    ["places in nodes", [want(2, "node", [slots(2, "slot", [want(1, "core")])])], true, 8],
    ["nothing", [], true, NaN],
  ];
  for (const [name, trees, expected, count] of cases) {
    test(`${name}: ${expected ? "yes" : "no"}`, () => {
      const answer = match(small, compileRequest([trees]));
      expect(answer.fits).toBe(expected);
      expect(answer.slots ?? NaN).toBe(count);
    });
  }
});

describe("sizes and units", () => {
  const big = layoutOf(
    cluster(
      {
        type: "node",
        inside: [
          { type: "core", size: 8 },
          { type: "memory", size: 64, unit: "GB" },
        ],
      },
      {
        type: "node",
        inside: [
          { type: "core", size: 8 },
          { type: "memory", size: 32, unit: "GiB" },
        ],
      },
    ),
  );
  const memory = (count: number, unit?: string): ResourceRequest =>
    want(1, "node", [want(count, "memory", [], { unit })]);
  const cases: readonly [string, ResourceRequest, boolean][] = [
    ["a vertex of size 8 is 8 cores", want(1, "node", [want(8, "core")]), true],
    ["and not 9", want(1, "node", [want(9, "core")]), false],
    ["two of them are 16", want(16, "core"), true],
    ["64 GB are less than 60 GiB", memory(60, "GiB"), false],
    ["but 59.6 GiB", memory(59.6, "GiB"), true],
    ["in bytes", memory(64e9, "B"), true],
    ["in bytes, one more", memory(64e9 + 10, "B"), false],
    ["without a unit: as the graph has it", memory(64), true],
    ["in another unit altogether", memory(1, "watts"), false],
    ["summed over nodes", want(90, "memory", [], { unit: "GiB" }), true],
    ["summed over nodes, too much", want(92, "memory", [], { unit: "GiB" }), false],
  ];
  for (const [name, tree, expected] of cases) {
    test(`${name}: ${expected}`, () => expect(fits([[tree]], big)).toBe(expected));
  }

  test("a vertex of size 2 with children is two of its type that share the children", () => {
    const pool = layoutOf({ type: "node", size: 2, inside: [{ type: "core", size: 10 }] });
    expect(fits([[want(2, "node", [want(5, "core")])]], pool)).toBe(true);
    expect(fits([[want(2, "node", [want(6, "core")])]], pool)).toBe(false);
    expect(fits([[want(3, "node", [want(1, "core")])]], pool)).toBe(false);
  });
});

describe("several trees", () => {
  const layout = layoutOf(cluster(node(2), node(2), node(8)));

  test("are summed, and no vertex counts for two of them", () => {
    const trees = (large: number) => [
      want(2, "node", [want(2, "core")]),
      want(1, "node", [want(large, "core")]),
    ];
    // The small vertices must go to the first tree, in any order of trees.
    expect(fits([trees(8)], layout)).toBe(true);
    expect(fits([trees(8).toReversed()], layout)).toBe(true);
    expect(fits([[...trees(8), want(1, "node")]], layout)).toBe(false);
    expect(fits([[...trees(8), want(1, "core")]], layout)).toBe(false);
    expect(fits([[...trees(7), want(1, "core")]], layout)).toBe(true);
  });

  test("the first alternative that fits is chosen", () => {
    const choice = [[want(1, "gpu")], [want(9, "node")], [want(1, "node")], [want(1, "core")]];
    expect(match(layout, compileRequest(choice))).toMatchObject({ fits: true, alternative: 2 });
  });
});

describe("use", () => {
  const ask = (...trees: ResourceRequest[]) => compileRequest([trees]);
  const run = (use: Use, ...trees: ResourceRequest[]) => {
    const { allocation } = allocate(small, ask(...trees), use);
    if (allocation === undefined) throw new Error("does not fit");
    expect(verifyAllocation({ ...small, use }, ask(...trees), allocation)).toBeUndefined();
    use.add(allocation);
    return allocation;
  };

  test("jobs share nodes until no core is free, and get them again after a release", () => {
    const use = new Use(small.graph);
    const one = want(1, "node", [want(1, "core")]);
    const jobs = Array.from({ length: 8 }, () => run(use, one));
    expect(fits([[one]], small, use)).toBe(false);
    expect(fits([[one]], small)).toBe(true);
    jobs.forEach((job) => use.remove(job));
    expect(use.isEmpty).toBe(true);
    expect([...use.entries()]).toEqual([]);
    expect(use.markedChildren(-1).size).toBe(0);
  });

  test("a whole node is free only when nothing in it is in use", () => {
    const use = new Use(small.graph);
    run(use, want(3, "core"));
    expect(match(small, ask(want(2, "node")), use)).toMatchObject({ fits: true, slots: 1 });
    expect(match(small, ask(slots(3, "node")), use)).toMatchObject({ fits: false, slots: 2 });
  });

  test("a node that is allocated whole or exclusively has nothing for others", () => {
    for (const exclusive of [want(3, "node"), slots(3, "node", [want(1, "core")], EXCLUSIVE)]) {
      const use = new Use(small.graph);
      const allocation = run(use, exclusive);
      expect(match(small, ask(slots(1, "slot", [want(1, "core")])), use).slots).toBe(2);
      expect(sharesOf(small.graph, allocation).filter(({ type }) => type === "node")).toHaveLength(
        3,
      );
      expect(verticesOfType(small.graph, allocation, "node")).toBe(3);
    }
  });

  test("an exclusive node must be unused", () => {
    const use = new Use(small.graph);
    run(use, want(1, "node", [want(1, "core")]));
    const exclusive = slots(4, "node", [want(1, "core")], EXCLUSIVE);
    expect(match(small, ask(exclusive), use)).toMatchObject({ fits: false, slots: 3 });
  });

  test("an exclusive slot is exclusive through slots inside it", () => {
    const layout = layoutOf(cluster({ type: "node", inside: [{ type: "core", size: 3 }] }));
    const inner = slots(1, "slot", [want(1, "core"), want(1, "core")]);
    const asks = (extra: object) => match(layout, ask(slots(1, "slot", [inner], extra))).fits;
    expect(asks({})).toBe(true); // both from the vertex with three
    expect(asks(EXCLUSIVE)).toBe(false); // each would need a vertex of its own
  });

  test("an allocation names vertices and amounts", () => {
    const layout = layOut(
      clusterGraph("east", [
        { name: "w1", cores: 8, memoryBytes: 16e9, gpus: 0, sockets: 1, numa: 1 },
      ]),
      new Map(),
    );
    const request = ask(want(1, "node", [want(2, "core"), want(4, "memory", [], { unit: "GB" })]));
    const { allocation } = allocate(layout, request);
    expect(allocation && sharesOf(layout.graph, allocation)).toEqual([
      { id: "/east/w1/core", type: "core", amount: 2, unit: "", isWhole: false },
      { id: "/east/w1/memory", type: "memory", amount: 4e9, unit: "B", isWhole: false },
    ]);
  });
});

const EXCLUSIVE = { isExclusive: true };

describe("requirements", () => {
  const graph = parseGraph(documentOf(cluster(...times(3, node(2)))));
  // Ids: 0 cluster, 1 rack, nodes 2, 6 and 10, each with a socket and two cores.
  const subsystem = (links: readonly (readonly [string, string])[]) => {
    const nodes = {
      s1: { metadata: { type: "package", name: "ior", version: "3.3.1" } },
      s2: { metadata: { type: "package", name: "gcc", version: "12.1" } },
      s3: { metadata: { type: "package", name: "ior", version: "2.0" } },
    };
    const edges = links.map(([source, target]) => ({ source, target, relation: "contains" }));
    return parseSubsystem("spack", { graph: { nodes, edges } }, graph);
  };
  const withLinks = (...links: (readonly [string, string])[]) =>
    layOut(graph, new Map([["spack", subsystem(links)]]));
  const ior = (min: string) => ({
    subsystem: "spack",
    conditions: [
      { kind: "one-of", field: "name", values: ["ior"] } as const,
      { kind: "version", field: "version", min, max: undefined } as const,
    ],
  });
  const nodes = (count: number, ...requires: ReturnType<typeof requireOne>[]) => [
    [want(count, "node", [want(1, "core")], { requires })],
  ];

  test("one linked vertex must meet all conditions of a requirement, and any may", () => {
    const layout = withLinks(["2", "s1"], ["2", "s2"], ["6", "s3"], ["6", "s2"]);
    expect(fits(nodes(1, ior("3.3")), layout)).toBe(true);
    // Node 6 has an ior, and something newer than 3.3, but not in one vertex.
    expect(fits(nodes(2, ior("3.3")), layout)).toBe(false);
    expect(fits(nodes(2, ior("2.0")), layout)).toBe(true);
  });

  test("all requirements of one subsystem must hold, in any order", () => {
    const layout = withLinks(["2", "s1"], ["2", "s2"], ["6", "s1"]);
    const both = [ior("3"), requireOne("spack", "name", "gcc")];
    expect(fits(nodes(1, ...both), layout)).toBe(true);
    expect(fits(nodes(2, ...both), layout)).toBe(false);
    expect(fits(nodes(2, ...both.toReversed()), layout)).toBe(false);
  });

  test("apply to every vertex that is counted where they are written", () => {
    const layout = withLinks(["4", "s1"]);
    const onCores = [want(1, "node", [want(1, "core", [], { requires: [ior("3")] })])];
    expect(fits([onCores], layout)).toBe(true);
    expect(fits([[want(1, "node", [want(2, "core", [], { requires: [ior("3")] })])]], layout)).toBe(
      false,
    );
    // A link of a core says nothing about its node.
    expect(fits(nodes(1, ior("3")), layout)).toBe(false);
  });

  test("a link to a rack or to the cluster holds for all its descendants", () => {
    expect(fits(nodes(3, ior("3")), withLinks(["1", "s1"]))).toBe(true);
    expect(fits(nodes(3, ior("3")), withLinks(["0", "s1"]))).toBe(true);
    expect(fits(nodes(3, ior("3")), withLinks())).toBe(false);
  });

  test("a requirement of a place applies to the vertices directly in it", () => {
    const asked = [slots(2, "slot", [want(1, "core")], { requires: [ior("3")] })];
    expect(fits([asked], withLinks(["2", "s1"]))).toBe(true);
    expect(fits([asked], withLinks(["4", "s1"]))).toBe(false);
  });

  test("an unknown subsystem satisfies nothing", () => {
    expect(fits(nodes(1, requireOne("mpi", "type", "x")), withLinks(["0", "s1"]))).toBe(false);
  });
});

describe("verification", () => {
  const request = compileRequest([[want(1, "node", [want(2, "core")])]]);
  const good = allocate(small, request).allocation;
  const subject = { ...small, use: undefined };
  const spoilt: readonly [string, (picks: readonly (typeof picksOf)[number][]) => unknown[]][] = [
    ["too little", (picks) => picks.slice(0, 2)],
    ["the same core twice", (picks) => [picks[0], picks[1], picks[1]]],
    ["a core of another node", ([node, one, other]) => [node, one, { ...other, vertex: 8 }]],
    ["a socket for a core", ([node, one, other]) => [node, one, { ...other, vertex: 3 }]],
    ["nothing taken", ([node, one, other]) => [node, one, { ...other, taken: 0 }]],
    ["more than there is", ([node, one, other]) => [node, one, { ...other, taken: 5 }]],
    ["nothing above", ([node, one, other]) => [node, one, { ...other, inside: -1 }]],
  ];
  const picksOf = good?.picks ?? [];

  test("accepts the result of the search", () => {
    expect(good && verifyAllocation(subject, request, good)).toBeUndefined();
  });
  for (const [name, spoil] of spoilt) {
    test(`refuses ${name}`, () => {
      const picks = spoil(picksOf) as typeof picksOf;
      expect(verifyAllocation(subject, request, { alternative: 0, picks })).toBeTypeOf("string");
    });
  }
  test("rejects one node that counts as two", () => {
    const two = compileRequest([[want(2, "node", [want(1, "core")])]]);
    const picks = [
      { need: 0, inside: -1, vertex: 2, counts: 1, taken: 0 },
      { need: 0, inside: -1, vertex: 2, counts: 1, taken: 0 },
      { need: 1, inside: 0, vertex: 4, counts: 1, taken: 1 },
      { need: 1, inside: 1, vertex: 5, counts: 1, taken: 1 },
    ];
    expect(verifyAllocation(subject, two, { alternative: 0, picks })).toBeTypeOf("string");
  });
  test("rejects vertices that others use", () => {
    const use = new Use(small.graph);
    if (good === undefined) throw new Error("does not fit");
    use.add(good);
    expect(verifyAllocation({ ...small, use }, request, good)).toBeTypeOf("string");
  });
});
