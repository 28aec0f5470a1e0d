import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { lammpsMatches } from "../../testing/lammps-clusters.ts";
import { parse } from "yaml";
import { ClusterGraphs } from "./cluster-graphs.ts";
import { parseCompatibilitySpec } from "./subsystems/compatibility-spec.ts";
import { compileRequest } from "./match/compile-request.ts";
import { explainRefusal } from "./match/explain.ts";
import { describeGraphRefusal } from "./match/refusal.ts";
import { countsByType } from "./graph.ts";
import { parseGraphText, parseJson, toJgf } from "./jgf.ts";
import { match } from "./match/match.ts";
import type { Requirement, ResourceRequest } from "./request/request.ts";
import { parseSubsystem } from "./subsystems/subsystem.ts";
import { requireOne, want } from "./testing/requests.ts";

const data = fileURLToPath(new URL("../../../../shared/data/", import.meta.url));
const isHere = existsSync(data);
const skipped = isHere ? "" : " (skipped: the public data is not there)";
const text = (path: string): string => readFileSync(join(data, path), "utf8");

/** The fields of a jobspec that these files use. */
interface Resource {
  readonly type: string;
  readonly count?: number;
  readonly replicas?: number;
  readonly requires?: readonly Readonly<Record<string, string>>[];
  readonly with?: readonly Resource[];
}
const requestOf = (resource: Resource): ResourceRequest =>
  want(
    resource.replicas ?? resource.count ?? 1,
    resource.type,
    (resource.with ?? []).map(requestOf),
    {
      isSlot: resource.replicas !== undefined,
      requires: (resource.requires ?? []).map(
        ({ name = "", field = "", match: exact, min, max }): Requirement =>
          exact === undefined
            ? { subsystem: name, conditions: [{ kind: "version", field, min, max }] }
            : requireOne(name, field, exact),
      ),
    },
  );
const jobOf = (path: string) => {
  const { resources } = parse(text(path)) as { resources: Record<string, Resource> };
  return compileRequest([Object.values(resources).map(requestOf)]);
};

describe.skipIf(!isHere)(`rainbow's examples${skipped}`, () => {
  const clusterOf = (folder: string, subsystem: string, file: string): ClusterGraphs => {
    const graphs = new ClusterGraphs();
    graphs.put("c", parseGraphText(text(`rainbow/${folder}/cluster-nodes.json`)));
    const document = parseJson(text(`rainbow/${folder}/${file}`));
    graphs.putSubsystem("c", parseSubsystem(subsystem, document, graphs.graph("c")));
    return graphs;
  };

  test("the graph has 3 nodes with 12 cores each and round trips", () => {
    const graph = parseGraphText(text("rainbow/scheduler/cluster-nodes.json"));
    expect(countsByType(graph)).toEqual({ cluster: 1, core: 36, node: 3, rack: 1, socket: 3 });
    expect(parseGraphText(JSON.stringify(toJgf(graph)))).toEqual(graph);
  });

  test("the io job matches every time", () => {
    const graphs = clusterOf("scheduler", "io", "cluster-io-subsystem.json");
    for (let at = 0; at < 200; at++) {
      const answer = match(graphs.layout("c"), jobOf("rainbow/scheduler/jobspec-io.yaml"));
      expect(answer).toEqual({ fits: true, alternative: 0, slots: 3 });
    }
  });

  test("the job with parameters matches", () => {
    const graphs = clusterOf("scheduler", "io", "cluster-io-subsystem.json");
    const job = jobOf("rainbow/scheduler/jobspec-constraint.yaml");
    expect(match(graphs.layout("c"), job).fits).toBe(true);
  });

  test("of the ranges, the valid one matches and the invalid one does not", () => {
    const folder = "match-algorithms/range";
    const graphs = clusterOf(folder, "spack", "spack-subsystem.json");
    const [good, bad] = ["valid", "invalid"].map((kind) =>
      jobOf(`rainbow/${folder}/jobspec-${kind}-range.yaml`),
    );
    if (good === undefined || bad === undefined) throw new Error("no jobs");
    expect(match(graphs.layout("c"), good).fits).toBe(true);
    expect(match(graphs.layout("c"), bad).fits).toBe(false);
    expect(explainRefusal(graphs.layout("c"), bad).map(describeGraphRefusal)).toEqual([
      "no node with spack version 0.7.1 to 0.7.5",
    ]);
  });

  test("a graph that compspec wrote has 1 rack and 4 nodes with 2 cores each", () => {
    const graph = parseGraphText(text("rainbow/compspec-cluster-nodes.json"));
    expect(countsByType(graph)).toEqual({ cluster: 1, core: 8, node: 4, rack: 1, socket: 4 });
  });
});

describe.skipIf(!isHere)(`compspec's artifacts${skipped}`, () => {
  const folder = "lammps/compspec";
  const graph = isHere ? parseGraphText(text("rainbow/compspec-cluster-nodes.json")) : undefined;

  test("each describes a cluster that satisfies its own description, in both formats", () => {
    const files = readdirSync(join(data, folder)).filter((name) => name.endsWith(".json"));
    expect(files.length).toBeGreaterThan(10);
    for (const file of files) {
      const document = parseJson(text(`${folder}/${file}`)) as {
        compatibilities: { name: string; attributes: Record<string, string> }[];
      };
      if (graph === undefined) throw new Error("no graph");
      const graphs = new ClusterGraphs();
      graphs.put("c", graph);
      for (const one of parseCompatibilitySpec(document, graph)) graphs.putSubsystem("c", one);
      const own = document.compatibilities.flatMap(({ name, attributes }) =>
        Object.entries(attributes).flatMap(([key, value]) => [
          requireOne(name, "type", `${key}=${value}`),
          requireOne(name, key, value),
        ]),
      );
      expect(own.length).toBeGreaterThan(4);
      const asking = (requires: readonly Requirement[]) =>
        match(graphs.layout("c"), compileRequest([[want(4, "node", [], { requires })]])).fits;
      expect(asking(own)).toBe(true);
      expect(asking([...own, requireOne("mpi", "mpi.implementation", "none")])).toBe(false);
    }
  });
});

describe.skipIf(!isHere)(`the lammps experiment${skipped}`, () => {
  const graphs = new ClusterGraphs();
  for (const name of isHere ? readdirSync(join(data, "lammps/clusters")) : []) {
    if (!name.startsWith("cluster-")) continue;
    graphs.put(name, parseGraphText(text(`lammps/clusters/${name}/nodes.json`)));
    for (const file of readdirSync(join(data, "lammps/clusters", name))) {
      const [, subsystem] = /^(.*)-subsystem\.json$/.exec(file) ?? [];
      if (subsystem === undefined) continue;
      const document = parseJson(text(`lammps/clusters/${name}/${file}`));
      graphs.putSubsystem(name, parseSubsystem(subsystem, document, graphs.graph(name)));
    }
  }
  const { jobspecs } = (isHere ? parse(text("lammps/jobspecs.yaml")) : { jobspecs: [] }) as {
    jobspecs: { name: string; resources: Record<string, Record<string, string>> }[];
  };

  for (const [asked, expected] of lammpsMatches) {
    test(`${asked.join(" + ") || "nothing asked"}: ${expected} match, for all 18 jobs`, () => {
      expect(jobspecs).toHaveLength(18);
      for (const { resources } of jobspecs) {
        const requires = asked.flatMap((name) =>
          Object.entries(resources[name] ?? {}).map(([key, value]) =>
            requireOne(name, "type", `${key}=${value}`),
          ),
        );
        const request = compileRequest([[want(2, "node", [want(2, "core")], { requires })]]);
        expect(graphs.satisfy(request, "ever").matches).toHaveLength(expected);
      }
    });
  }

  test("a request for everything leaves one match, and it is a correct one", () => {
    const [header = "", ...rows] = text("lammps/clusters/jobspec-to-cluster-matches.csv")
      .trim()
      .split("\n");
    const jobs = header.split(",");
    const truth = new Map(rows.map((row) => [row.split(",")[0], row.split(",")]));
    for (const { name, resources } of jobspecs) {
      const requires = Object.entries(resources).flatMap(([subsystem, fields]) =>
        Object.entries(fields).map(([key, value]) =>
          requireOne(subsystem, "type", `${key}=${value}`),
        ),
      );
      const request = compileRequest([[want(2, "node", [want(2, "core")], { requires })]]);
      const [found] = graphs.satisfy(request, "ever").matches;
      const row = truth.get(found?.cluster.replace("cluster-", "") ?? "");
      expect(Number(row?.[jobs.indexOf(name)])).toBe(1);
    }
  });
});
