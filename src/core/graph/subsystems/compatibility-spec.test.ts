import { describe, expect, test } from "vitest";
import { AppError } from "../../../lib/errors.ts";
import { ClusterGraphs } from "../cluster-graphs.ts";
import { parseCompatibilitySpec } from "./compatibility-spec.ts";
import { compileRequest } from "../match/compile-request.ts";
import { parseGraph } from "../jgf.ts";
import type { Requirement } from "../request/request.ts";
import { documentOf, times } from "../testing/documents.ts";
import { requireOne, want } from "../testing/requests.ts";

const artifact = {
  version: "0.0.0",
  kind: "CompatibilitySpec",
  metadata: { name: "own", schemas: { mpi: "https://example.org/mpi.json" } },
  compatibilities: [
    { name: "mpi", version: "0.0.0", attributes: { "mpi.implementation": "own-mpi" } },
    { name: "io.archspec", version: "0.0.0", attributes: { "cpu.target": "amd64", cores: 4 } },
    { name: "mpi", version: "0.0.0", attributes: { "mpi.version": "4.1.2" } },
  ],
};

const graph = parseGraph(
  documentOf({ type: "cluster", inside: times(3, { type: "node", inside: [{ type: "core" }] }) }),
);

describe("a compatibility artifact", () => {
  const graphs = new ClusterGraphs();
  graphs.put("c", graph);
  const subsystems = parseCompatibilitySpec(artifact, graph);
  for (const subsystem of subsystems) graphs.putSubsystem("c", subsystem);
  const fits = (...requires: readonly Requirement[]): boolean =>
    graphs.satisfy(compileRequest([[want(3, "node", [], { requires })]]), "ever").matches.length >
    0;
  const version = (min: string): Requirement => ({
    subsystem: "mpi",
    conditions: [
      { kind: "one-of", field: "mpi.implementation", values: ["own-mpi"] },
      { kind: "version", field: "mpi.version", min, max: undefined },
    ],
  });

  test("is one subsystem per name, and holds for every node", () => {
    expect(subsystems.map(({ name }) => name)).toEqual(["mpi", "io.archspec"]);
    expect(fits(requireOne("mpi", "type", "mpi.implementation=own-mpi"))).toBe(true);
    expect(fits(requireOne("mpi", "type", "mpi.implementation=another"))).toBe(false);
    expect(fits(requireOne("io.archspec", "type", "cpu.target=amd64"))).toBe(true);
    expect(fits(requireOne("io.archspec", "cores", "4"))).toBe(true);
  });

  test("has all attributes of a name in one entry too, so that versions can be compared", () => {
    expect([fits(version("4.1")), fits(version("4.2"))]).toEqual([true, false]);
  });

  const wrong: readonly [string, unknown, string][] = [
    ["a list", [], "document"],
    ["another kind", { ...artifact, kind: "Pod" }, "kind"],
    ["no compatibilities", { ...artifact, compatibilities: undefined }, "compatibilities"],
    ["a text for one", { ...artifact, compatibilities: ["mpi"] }, "compatibilities[0]"],
    ["one without a name", { ...artifact, compatibilities: [{}] }, "compatibilities[0].name"],
    [
      "nested attributes",
      { ...artifact, compatibilities: [{ name: "os", attributes: { os: { a: 1 } } }] },
      "compatibilities[0].attributes.os",
    ],
    ["one called cluster", { ...artifact, compatibilities: [{ name: "cluster" }] }, "subsystem"],
  ];
  for (const [name, document, field] of wrong) {
    test(`is refused: ${name}`, () => {
      let error: unknown;
      try {
        parseCompatibilitySpec(document, graph);
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toBeInstanceOf(AppError);
      expect((error as AppError).field).toBe(field);
    });
  }
});
