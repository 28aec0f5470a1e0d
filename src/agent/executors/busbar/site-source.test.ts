import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";

import { clusterGraph } from "../../../core/graph/facts.ts";
import { parseGraph, toJgf } from "../../../core/graph/jgf.ts";
import { parseSubsystem } from "../../../core/graph/subsystems/subsystem.ts";
import { ClusterSchema, NodeSchema } from "../../../gen/busbar/v1/busbar_pb.ts";
import type { AppError } from "../../../lib/errors.ts";
import type { SiteApi } from "./site-api.ts";
import { siteGraph, siteSubsystems } from "./site-graph.ts";
import { createSiteSource, observationOf } from "./site-source.ts";

const machine = (name: string) => ({
  name,
  cores: 4,
  sockets: 1,
  numa: 1,
  memoryBytes: 1_024,
  gpus: 0,
});
const graphOf = (cluster: string, ...nodes: string[]) =>
  toJgf(clusterGraph(cluster, nodes.map(machine)));
const node = (name: string, over: object = {}) =>
  create(NodeSchema, {
    name,
    cluster: "default",
    state: "connected",
    capacity: { cpu: 4, memory: 1_024 },
    ...over,
  });
const idle = { running: 0, queued: 0 };

describe("the graph of a site", () => {
  const blue = { name: "blue", graph: graphOf("blue", "b1"), subsystems: [] };
  const plain = { name: "default", graph: graphOf("default", "n1", "n2"), subsystems: [] };

  test("contains the clusters below, with the states and labels of their nodes", () => {
    const nodes = [node("n1", { labels: { disk: "ssd" } }), node("n2", { state: "drained" })];
    const document = siteGraph("a", [plain, blue], nodes);
    const graph = parseGraph(document);
    expect(graph.ids).toContain("/a/blue/b1/core");
    const { nodes: vertices } = document.graph;
    expect(vertices["/a"]?.metadata).toMatchObject({ type: "site" });
    expect(vertices["/a/default/n1"]?.metadata).toMatchObject({
      name: "n1",
      state: "connected",
      "label.disk": "ssd",
    });
    expect(vertices["/a/default/n2"]?.metadata).toMatchObject({ state: "drained" });
  });

  test("has no slots for shares of jobs with energy: such jobs go to no site", () => {
    const others = { "power-share": 1, license: 2 };
    const graph = toJgf(clusterGraph("edge", [{ ...machine("e1"), others }]));
    const { nodes, edges } = siteGraph("a", [{ name: "edge", graph, subsystems: [] }], []).graph;
    expect(Object.keys(nodes)).toContain("/a/edge/e1/other/license");
    expect(JSON.stringify([nodes, edges])).not.toContain("power-share");
  });

  test("has each subsystem once, linked to its vertices in each cluster", () => {
    const os = (cluster: string, at: string) => ({
      name: "os",
      document: {
        graph: {
          directed: true as const,
          nodes: { v: { label: "v", metadata: { type: "os", name: cluster } } },
          edges: [{ source: at, target: "v", relation: "contains" }],
        },
      },
    });
    const clusters = [
      { ...plain, subsystems: [os("default", "/default/n1")] },
      { ...blue, subsystems: [os("blue", "/blue")] },
    ];
    const [merged, ...others] = siteSubsystems("a", clusters);
    expect(others).toEqual([]);
    const graph = parseGraph(siteGraph("a", clusters, []));
    const { vertices, links } = parseSubsystem("os", merged?.document, graph);
    expect(vertices).toHaveLength(2);
    const places = [...links.keys()].map((at) => graph.ids[at]);
    expect(new Set(places)).toEqual(new Set(["/a/blue", "/a/default/n1"]));
  });

  test("that contains a graph of this agent is rejected: the site is below itself", async () => {
    const mark = { name: "x", fingerprint: "f1", subsystems: [] };
    const told = graphOf("b", "n1");
    const nested = { ...told.graph.nodes["/b"]?.metadata, busbar_agent: mark };
    const nodes = { ...told.graph.nodes, "/b": { label: "b", metadata: nested } };
    const graph = JSON.stringify({ graph: { ...told.graph, nodes } });
    const api = {
      server: "here",
      listClusters: async () => ({
        clusters: [create(ClusterSchema, { name: "b", kind: "pulling" })],
      }),
      getCluster: async () => create(ClusterSchema, { name: "b" }),
      getClusterGraph: async () => ({ graph }),
      listNodes: async () => ({ nodes: [] }),
    } as unknown as SiteApi;
    const site = {
      cluster: "a",
      group: "upstream",
      below: undefined,
      api,
      onShape: () => undefined,
    };
    const circle = createSiteSource({ ...site, fingerprint: "f1" }).describe();
    await expect(circle).rejects.toThrow(/site a contains itself: its cluster b/);
    await expect(circle).rejects.toMatchObject({
      code: "invalid_argument",
    } satisfies Partial<AppError>);
    const other = await createSiteSource({ ...site, fingerprint: "f2" }).describe();
    expect(Object.keys(other.graph.graph.nodes)).toContain("/a/b/n1");
  });
});

test("a site without nodes and clusters is not described yet", async () => {
  const api = {
    server: "here",
    listClusters: async () => ({ clusters: [] }),
  } as unknown as SiteApi;
  const own = { cluster: "a", group: "g", below: undefined, fingerprint: "f1" };
  const site = { ...own, api, onShape: () => undefined };
  await expect(createSiteSource(site).describe()).rejects.toMatchObject({ code: "unavailable" });
});

describe("the free capacity of a site", () => {
  test("is the free capacity of its nodes that accept tasks", () => {
    const nodes = [
      node("n1", { used: { cpu: 1.5 }, tasks: 2, power: { watts: 300n } }),
      node("n2", { power: { watts: 50n } }),
      node("n3", { state: "drained" }),
    ];
    expect(observationOf([], nodes, { running: 2, queued: 7 })).toEqual({
      state: {
        nodes_total: 3,
        nodes_up: 2,
        nodes_free: 1,
        cores_total: 12,
        cores_free: 6.5,
        memory_free: 2_048,
        watts: 350,
        running: 2,
        queue_length: 7,
      },
      free: { cpu: 6_500, memory: 2_048, nodes: 1 },
    });
  });

  test("counts the state of pull clusters; an absent value means no limit", () => {
    const tell = (key: string, value: number) => ({
      key,
      value: { value: { case: "number" as const, value } },
    });
    const pulling = create(ClusterSchema, {
      name: "blue",
      kind: "pulling",
      state: [tell("cores_free", 8), tell("nodes_free", 2), tell("nodes_total", 3)],
    });
    expect(observationOf([pulling], [node("n1")], idle)).toMatchObject({
      state: { nodes_total: 4, nodes_free: 3, cores_free: 12 },
      free: { cpu: 12_000, nodes: 3 },
    });
    expect(observationOf([pulling], [node("n1")], idle).free).not.toHaveProperty("memory");
  });

  test("is nothing while no node accepts tasks", () => {
    const { free } = observationOf([], [node("n1", { state: "disconnected" })], idle);
    expect(free).toEqual({ nodes: 0 });
  });
});
