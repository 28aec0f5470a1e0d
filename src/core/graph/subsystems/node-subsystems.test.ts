import { expect, test } from "vitest";
import type { Software } from "../../model/node/node-facts.ts";
import { ClusterGraphs } from "../cluster-graphs.ts";
import { compileRequest } from "../match/compile-request.ts";
import { clusterGraph } from "../facts.ts";
import { countsByType, vertexOf } from "../graph.ts";
import { parseGraph, toJgf } from "../jgf.ts";
import { subsystemsOf } from "./node-subsystems.ts";
import type { Condition, Requirement } from "../request/request.ts";
import { parseSubsystem, toSubsystemJgf } from "./subsystem.ts";
import { requireOne, want } from "../testing/requests.ts";

const machine = (name: string, software: Software) => ({
  name,
  cores: 8,
  sockets: 2,
  numa: 0,
  memoryBytes: 16e9,
  gpus: 0,
  others: { license: 2, "nvidia.com/mig": 4 },
  software,
});

const shared: Software = { arch: [{ name: "x86_64" }], spack: [{ name: "ior", version: "3.3.0" }] };
const w1 = machine("w1", {
  ...shared,
  os: [{ name: "debian", version: "12" }],
  mpi: [{ name: "openmpi", version: "4.1.4" }],
  cpu: [{ name: "Own Chip", vendor: "us", family: 6 }, { feature: "avx2" }],
});
const w2 = machine("w2", {
  ...shared,
  os: [{ name: "rocky", version: "9.3" }],
  mpi: [
    { name: "openmpi", version: "3.1.0" },
    { name: "mpich", version: "4.2" },
  ],
  gpu: [],
});

const graphs = new ClusterGraphs();
const graph = clusterGraph("east", [w1, w2]);
graphs.put("east", graph);
const subsystems = subsystemsOf("east", [w1, w2], graph);
for (const subsystem of subsystems) graphs.putSubsystem("east", subsystem);

const version = (min?: string, max?: string): Condition => ({
  kind: "version",
  field: "version",
  min,
  max,
});
const named = (subsystem: string, name: string, ...more: readonly Condition[]): Requirement => ({
  subsystem,
  conditions: [{ kind: "one-of", field: "name", values: [name] }, ...more],
});

const asked: readonly [string, number, readonly Requirement[]][] = [
  ["nothing", 2, []],
  ["an os", 1, [named("os", "debian")]],
  ["an os from a version on", 1, [named("os", "debian", version("11"))]],
  ["an os from a version on that nobody has", 0, [named("os", "debian", version("12.1"))]],
  ["what both have", 2, [named("arch", "x86_64"), named("spack", "ior", version("3.3"))]],
  ["an mpi of any version", 2, [named("mpi", "openmpi")]],
  ["an mpi in a range", 1, [named("mpi", "openmpi", version("3", "3.9"))]],
  ["name and version of different entries", 0, [named("mpi", "mpich", version("2", "3.9"))]],
  ["by type, as other schedulers' documents do", 1, [requireOne("mpi", "type", "mpich")]],
  ["a feature of the processor", 1, [requireOne("cpu", "feature", "avx2")]],
  ["a feature by its type", 1, [requireOne("cpu", "type", "avx2")]],
  ["a number", 1, [requireOne("cpu", "family", "6")]],
  ["two things of two machines", 0, [named("os", "rocky"), requireOne("cpu", "feature", "avx2")]],
  ["a subsystem that nobody has", 0, [requireOne("gpu", "name", "A100")]],
];
for (const [name, count, requires] of asked) {
  test(`${name}: ${count} of two nodes`, () => {
    const fits = (nodes: number): boolean =>
      graphs.satisfy(compileRequest([[want(nodes, "node", [], { requires })]]), "ever").matches
        .length > 0;
    expect([1, 2, 3].filter(fits)).toEqual([1, 2].slice(0, count));
  });
}

test("equal entries are one vertex, linked to each node that has them", () => {
  const spack = subsystems.find(({ name }) => name === "spack");
  expect(spack?.vertices.map(({ id }) => id)).toEqual(["spack/ior@3.3.0"]);
  const linked = [...(spack?.links.keys() ?? [])].map((vertex) => vertexOf(graph, vertex).id);
  expect(linked).toEqual(["/east/w1", "/east/w2"]);
  expect(subsystems.map(({ name }) => name)).toEqual(["arch", "cpu", "mpi", "os", "spack"]);
});

test("documents of graph and subsystems round trip, in any order of nodes", () => {
  const again = parseGraph(toJgf(clusterGraph("east", [w2, w1])));
  expect(toJgf(again)).toEqual(toJgf(graph));
  for (const [at, subsystem] of subsystemsOf("east", [w2, w1], again).entries()) {
    expect(parseSubsystem(subsystem.name, toSubsystemJgf(subsystem, again), again)).toEqual(
      subsystem,
    );
    expect(toSubsystemJgf(subsystem, again)).toEqual(
      toSubsystemJgf(subsystems[at] ?? subsystem, graph),
    );
  }
});

test("different entries of one name keep ids of their own", () => {
  const node = machine("n", {
    compiler: [
      { name: "gcc", version: "12.2.0", path: "/usr/bin/gcc" },
      { name: "gcc", version: "12.2.0", path: "/opt/bin/gcc" },
      { name: "gcc", version: "12.2.0", path: "/opt/bin/gcc" },
    ],
  });
  const [compiler] = subsystemsOf("c", [node], clusterGraph("c", [node]));
  const ids = compiler?.vertices.map(({ id, metadata }) => [id, metadata["path"]]);
  expect(ids).toEqual([
    ["compiler/gcc@12.2.0", "/opt/bin/gcc"],
    ["compiler/gcc@12.2.0#2", "/usr/bin/gcc"],
  ]);
});

test("other resources are vertices of their names", () => {
  expect(countsByType(graph)).toMatchObject({ license: 4, "nvidia.com/mig": 8, core: 16 });
});
