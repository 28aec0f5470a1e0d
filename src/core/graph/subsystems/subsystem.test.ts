import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { AppError } from "../../../lib/errors.ts";
import { parseGraph } from "../jgf.ts";
import { parseSubsystem, toSubsystemJgf } from "./subsystem.ts";
import { aDocument, type Document } from "../testing/documents.ts";

const graph = parseGraph(
  aDocument({ "0": "cluster", "2": "node", "5": "core", "6": "node" }, [
    ["0", "2"],
    ["0", "6"],
    ["2", "5"],
  ]),
);

const io = (edges: readonly unknown[]): unknown => ({
  graph: { ...aDocument({ io0: "io", io1: "shm", io2: "nvme" }).graph, edges },
});
const edge = (source: string, target: string, relation = "contains") => ({
  source,
  target,
  relation,
});

describe("a subsystem", () => {
  test("links vertices of the graph to its own, each pair once", () => {
    const edges = [edge("2", "io1"), edge("io1", "2", "in"), edge("2", "io2"), edge("2", "io1")];
    const { links, vertices } = parseSubsystem("io", io([...edges, edge("io0", "io1")]), graph);
    expect([...links].map(([vertex, own]) => [graph.ids[vertex], own])).toEqual([["2", [1, 2]]]);
    expect(vertices.map(({ id }) => id)).toEqual(["io0", "io1", "io2"]);
  });

  test("may have a wrong reverse edge, as published templates do", () => {
    const { links } = parseSubsystem("io", io([edge("5", "io1"), edge("io1", "6", "in")]), graph);
    expect([...links.keys()].map((vertex) => graph.ids[vertex])).toEqual(["5"]);
  });

  test("may link two vertices of the cluster, which has no effect", () => {
    const { links, inner } = parseSubsystem("io", io([edge("5", "6")]), graph);
    expect([links.size, inner.length]).toEqual([0, 0]);
  });

  test("its own vertices may be linked in any way, cycles too", () => {
    const edges = [edge("io0", "io1"), edge("io1", "io2"), edge("io2", "io0"), edge("2", "io2")];
    expect(parseSubsystem("io", io(edges), graph).inner).toEqual([
      [0, 1],
      [1, 2],
      [2, 0],
    ]);
  });

  test("nested metadata is found by its path, and a literal name wins", () => {
    const metadata = {
      attributes: { software: "python", name: "inner" },
      "attributes.name": "outer",
    };
    const document = { graph: { nodes: { m1: { metadata } }, edges: [edge("2", "m1")] } };
    const [vertex] = parseSubsystem("modules", document, graph).vertices;
    expect(vertex?.scalars.get("attributes.software")).toBe("python");
    expect(vertex?.scalars.get("attributes.name")).toBe("outer");
    expect(vertex?.scalars.get("size")).toBe(1);
  });

  const refused: readonly [string, string, unknown, string, RegExp][] = [
    ["no name", "", io([]), "subsystem", /1 to/],
    ["the name of the graph itself", "cluster", io([]), "subsystem", /the graph of the cluster/],
    ["an unknown source", "io", io([edge("999", "io1")]), "graph.edges[0].source", /"999"/],
    ["an unknown target", "io", io([edge("2", "io9")]), "graph.edges[0].target", /"io9"/],
    [
      "an unknown end of an inverse",
      "io",
      io([edge("io1", "9", "in")]),
      "graph.edges[0].target",
      /./,
    ],
    ["a link from inside out", "io", io([edge("io1", "2")]), "graph.edges[0]", /the other way/],
    ["a self-loop", "io", io([edge("io1", "io1")]), "graph.edges[0]", /itself/],
    ["an id of the cluster", "io", aDocument({ "2": "x" }), "graph.nodes.2", /same id/],
    ["no vertex", "io", { graph: { nodes: {} } }, "graph.nodes", /at least one/],
    ["a wrong type", "io", aDocument({ a: "" }), "graph.nodes.a.metadata.type", /empty/],
  ];
  for (const [name, subsystem, document, field, text] of refused) {
    test(`is refused whole: ${name}`, () => {
      const parse = () => parseSubsystem(subsystem, document, graph);
      expect(parse).toThrow(AppError);
      expect(parse).toThrow(expect.objectContaining({ field, code: "invalid_argument" }));
      expect(parse).toThrow(text);
    });
  }

  test("is the same in any order, and round trips", () => {
    const ids = fc.constantFrom("2", "5", "6", "io0", "io1", "io2");
    const anyEdges = fc.array(
      fc.tuple(ids, ids).filter(([a, b]) => a !== b && (!a.startsWith("io") || b.startsWith("io"))),
    );
    fc.assert(
      fc.property(anyEdges, (pairs) => {
        const edges = pairs.map(([source, target]) => edge(source, target));
        const one = parseSubsystem("io", io(edges), graph);
        const written = toSubsystemJgf(one, graph);
        const other = parseSubsystem("io", io(edges.toReversed()), graph);
        expect(JSON.stringify(toSubsystemJgf(other, graph))).toBe(JSON.stringify(written));
        const again = parseSubsystem("io", JSON.parse(JSON.stringify(written)), graph);
        expect(JSON.stringify(toSubsystemJgf(again, graph))).toBe(JSON.stringify(written));
        expect(again.links).toEqual(one.links);
      }),
    );
  });

  test("a damaged document is rejected as invalid or read; no other error", () => {
    fc.assert(
      fc.property(fc.anything(), fc.anything(), fc.anything(), (nodes, edges, metadata) => {
        const document = {
          graph: {
            nodes: { io0: { metadata }, ...(Array.isArray(nodes) ? {} : Object(nodes)) },
            edges,
          },
        } as unknown as Document;
        try {
          parseSubsystem("io", document, graph);
        } catch (error) {
          expect(error).toMatchObject({ code: "invalid_argument" });
        }
      }),
      { numRuns: 500 },
    );
  });
});

test("a subsystem may have as many types as vertices, a graph may not", () => {
  const types = Object.fromEntries(
    Array.from({ length: 300 }, (_, at) => [`p${at}`, `type=${at}`]),
  );
  expect(parseSubsystem("packages", aDocument(types), graph).vertices).toHaveLength(300);
  expect(() => parseGraph(aDocument(types))).toThrow(
    expect.objectContaining({ field: "graph.nodes.p64.metadata.type" }),
  );
});
