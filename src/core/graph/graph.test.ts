import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AppError } from "../../lib/errors.ts";
import { clusterGraph, nodeGraph } from "./facts.ts";
import { countsByType, vertexNumber, vertexOf } from "./graph.ts";
import { parseGraph, parseGraphText, toJgf } from "./jgf.ts";
import { aDocument, type Branch, documentOf } from "./testing/documents.ts";
import { anyBranch, shuffled } from "./testing/arbitrary-graphs.ts";

const errorOf = (action: () => unknown): AppError => {
  try {
    action();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error("nothing was refused");
};

const contains = (source: unknown, target: unknown, relation: unknown = "contains") => ({
  source,
  target,
  relation,
});

describe("a graph", () => {
  test("is a tree of containment in one order, whatever the order of the document", () => {
    const graph = parseGraph(
      aDocument({ a: "cluster", "10": "node", "9": "node", c: "core" }, [
        ["a", "10"],
        ["9", "c"],
        ["a", "9"],
      ]),
    );
    expect(graph.ids).toEqual(["a", "9", "c", "10"]);
    expect([...graph.parentOf]).toEqual([-1, 0, 1, 0]);
    expect([...graph.endOf]).toEqual([4, 3, 3, 4]);
  });

  test("may have several roots, and no root needs a certain id", () => {
    const graph = parseGraph(aDocument({ x: "node", y: "node", z: "core" }, [["y", "z"]]));
    expect([...graph.parentOf]).toEqual([-1, -1, 1]);
  });

  test("keeps every metadata field, with defaults for type, size and unit", () => {
    const metadata = { name: "n0", rank: -1, paths: { containment: "/n0" }, "": [1, null] };
    const document = { graph: { nodes: { n: { label: "first", metadata }, m: {} } } };
    const graph = parseGraph(document);
    const n = vertexOf(graph, vertexNumber(graph, "n") ?? -1);
    expect(n).toEqual({
      id: "n",
      label: "first",
      inside: undefined,
      metadata: { ...metadata, type: "resource", size: 1 },
    });
    expect(vertexOf(graph, vertexNumber(graph, "m") ?? -1).label).toBe("m");
  });

  test("may be written as a list of vertices, and with every link in both directions", () => {
    const nodes = [
      { id: "n", metadata: { type: "node" } },
      { id: "c", metadata: { type: "core", size: 8 } },
    ];
    const edges = [contains("n", "c"), contains("c", "n", "in"), contains("n", "c")];
    const graph = parseGraph({ graph: { nodes, edges } });
    expect(graph.ids).toEqual(["n", "c"]);
    expect(countsByType(graph)).toEqual({ core: 8, node: 1 });
  });

  const vertex = (metadata: unknown) => ({ graph: { nodes: { 7: { metadata } } } });
  const linked = (...edges: unknown[]) => ({
    graph: { nodes: { a: {}, b: {}, c: {} }, edges },
  });
  const refused: readonly [string, unknown, string, RegExp][] = [
    ["nothing", undefined, "graph", /the document must be an object, not missing/],
    ["a list", [], "graph", /must be an object, not a list/],
    ["no graph", {}, "graph", /must be an object, not missing/],
    ["several graphs", { graphs: [] }, "graph", /one at a time/],
    ["no vertices", { graph: { nodes: {} } }, "graph.nodes", /at least one vertex/],
    ["nodes of the wrong type", { graph: { nodes: 3 } }, "graph.nodes", /not a number/],
    ["a vertex that is a text", { graph: { nodes: { a: "x" } } }, "graph.nodes.a", /an object/],
    ["a list without ids", { graph: { nodes: [{}] } }, "graph.nodes[0].id", /a text, not missing/],
    ["an id twice", { graph: { nodes: [{ id: "a" }, { id: "a" }] } }, "graph.nodes[1]", /twice/],
    ["metadata that is a list", vertex([]), "graph.nodes.7.metadata", /not a list/],
    ["a type that is a number", vertex({ type: 3 }), "graph.nodes.7.metadata.type", /a text/],
    ["an empty type", vertex({ type: "" }), "graph.nodes.7.metadata.type", /empty/],
    ["a size that is a text", vertex({ size: "8" }), "graph.nodes.7.metadata.size", /a number/],
    ["a negative size", vertex({ size: -1 }), "graph.nodes.7.metadata.size", /from 0/],
    ["a huge size", vertex({ size: 1e300 }), "graph.nodes.7.metadata.size", /2\^53/],
    ["a unit that is null", vertex({ unit: null }), "graph.nodes.7.metadata.unit", /not null/],
    ["a long type", vertex({ type: "x".repeat(600) }), "graph.nodes.7.metadata.type", /at most/],
    ["much metadata", vertex({ x: "x".repeat(20_000) }), "graph.nodes.7.metadata", /at most/],
    [
      "deep metadata",
      vertex({ x: JSON.parse("[".repeat(50) + "]".repeat(50)) as unknown }),
      "graph.nodes.7.metadata",
      /nested/,
    ],
    ["edges that are no list", { graph: { nodes: { a: {} }, edges: {} } }, "graph.edges", /a list/],
    ["an edge that is a text", linked("a"), "graph.edges[0]", /an object/],
    ["a source that is a number", linked(contains(0, "b")), "graph.edges[0].source", /a text/],
    ["a relation that is a number", linked(contains("a", "b", 1)), "graph.edges[0].relation", /./],
    ["a missing source", linked(contains("z", "b")), "graph.edges[0].source", /no vertex "z"/],
    [
      "a missing target",
      linked(contains("a", "b"), contains("a", "z")),
      "graph.edges[1].target",
      /no vertex "z"/,
    ],
    ["a self-loop", linked(contains("a", "a")), "graph.edges[0]", /cannot contain itself/],
    [
      "two parents",
      linked(contains("a", "c"), contains("b", "c")),
      "graph.edges[1].target",
      /"c" would be in both "a" and "b"/,
    ],
    [
      "a cycle, which is shown",
      linked(contains("a", "b"), contains("b", "c"), contains("c", "a")),
      "graph.edges",
      /a > b > c > a|b > c > a > b|c > a > b > c/,
    ],
    [
      "an inverse link that says otherwise",
      linked(contains("a", "c"), contains("c", "b", "in")),
      "graph.edges[1]",
      /"c" is in "b", but "a" contains it/,
    ],
    [
      "an inverse link to what contains nothing",
      linked(contains("c", "b", "in")),
      "graph.edges[0]",
      /but nothing contains it/,
    ],
  ];
  for (const [name, document, field, text] of refused) {
    test(`is refused whole: ${name}`, () => {
      const error = errorOf(() => parseGraph(document));
      expect(error.code).toBe("invalid_argument");
      expect(error.field).toBe(field);
      expect(error.message).toMatch(text);
    });
  }

  test("is rejected when it is deeper than any cluster", () => {
    const nodes = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`v${at}`, {}]));
    const edges = Array.from({ length: 99 }, (_, at) => contains(`v${at}`, `v${at + 1}`));
    const error = errorOf(() => parseGraph({ graph: { nodes, edges } }));
    expect(error.field).toBe("graph.nodes.v64");
  });

  test("is rejected when it is not JSON", () => {
    expect(errorOf(() => parseGraphText("{")).field).toBe("graph");
  });

  test("ids and fields may be named like properties of Object.prototype", () => {
    const text = `{"graph":{"nodes":{"__proto__":{"metadata":{"__proto__":1,"constructor":2}},
      "toString":{}},"edges":[{"source":"__proto__","target":"toString","relation":"contains"}]}}`;
    const graph = parseGraphText(text);
    expect(graph.ids).toEqual(["__proto__", "toString"]);
    expect(parseGraph(JSON.parse(JSON.stringify(toJgf(graph))))).toEqual(graph);
  });
});

describe("round trips", () => {
  test("a written graph is read as the same graph, and written again as the same document", () => {
    fc.assert(
      fc.property(anyBranch, (branch) => {
        const graph = parseGraph(documentOf(branch));
        const written = toJgf(graph);
        const again = parseGraph(JSON.parse(JSON.stringify(written)));
        expect(again).toEqual(graph);
        expect(JSON.stringify(toJgf(again))).toBe(JSON.stringify(written));
      }),
    );
  });

  test("the order of vertices and edges does not matter", () => {
    fc.assert(
      fc.property(anyBranch, fc.infiniteStream(fc.nat()), (branch, dice) => {
        const document = documentOf(branch);
        const other = shuffled(document, () => dice.next().value);
        expect(JSON.stringify(toJgf(parseGraph(other)))).toBe(
          JSON.stringify(toJgf(parseGraph(document))),
        );
      }),
    );
  });
});

describe("a damaged document", () => {
  const damage = fc.record({
    at: fc.nat(),
    value: fc.oneof(
      fc.constantFrom<unknown>(null, undefined, 0, -1, NaN, "", "0", "1", [], {}, true, 1e308),
      fc.anything(),
    ),
  });

  test("is rejected with an invalid_argument that names the place, or is read; no other error", () => {
    fc.assert(
      fc.property(
        anyBranch,
        fc.array(damage, { minLength: 1, maxLength: 4 }),
        (branch, damages) => {
          const document = JSON.parse(JSON.stringify(documentOf(branch))) as unknown;
          for (const { at, value } of damages) damageAt(document, at, value);
          try {
            const graph = parseGraph(document);
            expect(parseGraph(JSON.parse(JSON.stringify(toJgf(graph))))).toEqual(graph);
          } catch (error) {
            expect(error).toBeInstanceOf(AppError);
            expect((error as AppError).code).toBe("invalid_argument");
            expect((error as AppError).field).toMatch(/^graph/);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

/** Puts `value` at one of the places of a document. */
function damageAt(document: unknown, at: number, value: unknown): void {
  const places: (readonly [Record<string, unknown>, string])[] = [];
  const visit = (holder: unknown): void => {
    if (typeof holder !== "object" || holder === null) return;
    for (const key of Object.keys(holder)) {
      places.push([holder as Record<string, unknown>, key]);
      visit((holder as Record<string, unknown>)[key]);
    }
  };
  visit(document);
  const [holder, key] = places[at % places.length] ?? [];
  if (holder !== undefined && key !== undefined) holder[key] = value;
}

describe("a graph from facts", () => {
  const facts = { name: "w1", cores: 64, memoryBytes: 256e9, gpus: 4, sockets: 1, numa: 1 };

  test("of one machine: a node with its cores, memory and gpus", () => {
    const graph = nodeGraph(facts);
    expect(graph.ids).toEqual(["/w1", "/w1/core", "/w1/gpu", "/w1/memory"]);
    expect(countsByType(graph)).toEqual({ core: 64, gpu: 4, memory: 256e9, node: 1 });
  });

  const shapes: readonly [string, Partial<typeof facts>, readonly string[]][] = [
    [
      "sockets hold the cores, the node the memory",
      { sockets: 2, cores: 5, gpus: 0 },
      ["/w1", "/w1/memory", "/w1/socket0", "/w1/socket0/core", "/w1/socket1", "/w1/socket1/core"],
    ],
    [
      "memory domains hold both",
      { sockets: 1, numa: 2, gpus: 0 },
      [
        "/w1",
        ...["0", "1"].flatMap((n) => ["", "/core", "/memory"].map((x) => `/w1/numa${n}${x}`)),
      ],
    ],
    [
      "what it has none of is not shown",
      { cores: 1, gpus: 0, memoryBytes: 0 },
      ["/w1", "/w1/core"],
    ],
  ];
  for (const [name, change, ids] of shapes) {
    test(`of a machine: ${name}`, () => {
      expect(nodeGraph({ ...facts, ...change }).ids).toEqual(ids);
    });
  }

  test("keeps totals, however cores are divided", () => {
    const amount = fc.integer({ min: 0, max: 200 });
    fc.assert(
      fc.property(amount, amount, fc.nat(8), fc.nat(16), (cores, memoryBytes, sockets, numa) => {
        const graph = nodeGraph({ ...facts, cores, memoryBytes, sockets, numa, gpus: 0 });
        const { core = 0, memory = 0 } = countsByType(graph);
        expect([core, memory]).toEqual([cores, memoryBytes]);
      }),
    );
  });

  test("of many machines: one cluster, the same in any order of nodes, and round trips", () => {
    const nodes = ["a", "b", "c"].map((name) => ({ ...facts, name, metadata: { os: "linux" } }));
    const graph = clusterGraph("east", nodes);
    expect(countsByType(graph)).toMatchObject({ cluster: 1, node: 3, core: 192 });
    expect(graph.ids[0]).toBe("/east");
    expect(toJgf(clusterGraph("east", nodes.toReversed()))).toEqual(toJgf(graph));
    expect(toJgf(parseGraph(toJgf(graph)))).toEqual(toJgf(graph));
  });

  test("invalid facts are rejected by name", () => {
    expect(errorOf(() => nodeGraph({ ...facts, cores: -1 })).field).toBe("node.cores");
    expect(errorOf(() => clusterGraph("c", [facts, facts])).field).toBe("nodes[1].name");
    expect(errorOf(() => nodeGraph({ ...facts, name: "" })).field).toBe("node.name");
  });
});

const big: Branch = {
  type: "cluster",
  inside: Array.from({ length: 1_000 }, () => ({
    type: "node",
    inside: Array.from({ length: 64 }, () => ({ type: "core" })),
  })),
};

test("65,001 vertices are read and counted", () => {
  const graph = parseGraph(documentOf(big));
  expect(countsByType(graph)).toEqual({ cluster: 1, core: 64_000, node: 1_000 });
});
