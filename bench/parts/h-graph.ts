import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { ClusterGraphs } from "../../src/core/graph/cluster-graphs.ts";
import {
  type CompiledRequest,
  compileRequest,
} from "../../src/core/graph/match/compile-request.ts";
import { clusterGraph } from "../../src/core/graph/facts.ts";
import type { Graph } from "../../src/core/graph/graph.ts";
import { parseGraph } from "../../src/core/graph/jgf.ts";
import { layOut } from "../../src/core/graph/layout.ts";
import { allocate } from "../../src/core/graph/match/match.ts";
import type { ResourceRequest } from "../../src/core/graph/request/request.ts";
import { Use } from "../../src/core/graph/match/use.ts";
import { atMost, type Bench, type Case, type Measure } from "../support/part.ts";

const CLUSTERS = 100;
const NODES = 64;
const CORES = 8;
const BIG_NODES = 10_000;
const BIG_CORES = 64;
const MB = 1_000_000;

const want = (type: string, count: number, inside: ResourceRequest[] = []): ResourceRequest => ({
  type,
  count,
  unit: undefined,
  isSlot: type === "rack",
  isExclusive: false,
  label: undefined,
  requires: [],
  with: inside,
});
/** The request of rainbow's own client: a rack with nodes with cores. */
const request = (cores: number): CompiledRequest =>
  compileRequest([[want("rack", 1, [want("node", 2, [want("core", cores)])])]]);

/** The document of a cluster of racks, nodes, sockets and cores, every one a vertex. */
function documentOf(nodeCount: number, coresOf: (node: number) => number): unknown {
  const nodes: Record<string, unknown> = {};
  const edges: unknown[] = [];
  let count = 0;
  const add = (type: string, above: string | undefined): string => {
    const id = String(count++);
    nodes[id] = { label: id, metadata: { type, size: 1 } };
    if (above !== undefined) edges.push({ source: above, target: id, relation: "contains" });
    return id;
  };
  const rack = add("rack", add("cluster", undefined));
  for (let at = 0; at < nodeCount; at++) {
    const socket = add("socket", add("node", rack));
    for (let core = coresOf(at); core > 0; core--) add("core", socket);
  }
  return { graph: { nodes, edges } };
}

/** Which of 100 clusters could run a job: the pure core in this process. */
export const satisfy: Case = {
  id: "h.satisfy",
  what: `requests matched against ${CLUSTERS} clusters of ${NODES} nodes`,
  async run(bench) {
    const alike = filled(() => () => CORES);
    // No two clusters, and no two nodes of a cluster, are the same.
    const different = filled((cluster) => (node) => 4 + ((node * 31 + cluster) % 61));
    const used = filled(() => () => CORES);
    for (const name of used.names) {
      const { allocation } = allocate(used.layout(name), request(3));
      if (allocation !== undefined) used.use(name).add(allocation);
    }
    return [
      timed(bench, "alike, all match", alike, 4, "ever", 0.2),
      timed(bench, "alike, none match", alike, 513, "ever", 0.2),
      timed(bench, "all differ, all match", different, 32, "ever"),
      timed(bench, "all differ, few match", different, 64, "ever"),
      timed(bench, "all differ, none match", different, 513, "ever", 1),
      timed(bench, "each in use, what is free", used, 4, "now"),
    ];
  },
};

function filled(coresOf: (cluster: number) => (node: number) => number): ClusterGraphs {
  const graphs = new ClusterGraphs();
  for (let at = 0; at < CLUSTERS; at++) {
    graphs.put(`c${at}`, parseGraph(documentOf(NODES, coresOf(at))));
  }
  return graphs;
}

function timed(
  bench: Bench,
  name: string,
  graphs: ClusterGraphs,
  cores: number,
  when: "ever" | "now",
  budgetMs?: number,
): Measure {
  const rounds = bench.count(1_000);
  graphs.satisfy(request(cores), when); // layouts are computed once, on first use
  for (let at = 0; at < rounds / 10; at++) graphs.satisfy(request(cores), when);
  const before = process.cpuUsage();
  let matches = 0;
  for (let at = 0; at < rounds; at++) {
    // Compiled each time: no result of an earlier request is reused.
    matches = graphs.satisfy(request(cores), when).matches.length;
  }
  const { user, system } = process.cpuUsage(before);
  bench.worked(rounds);
  const value = (user + system) / 1_000 / rounds;
  const must = budgetMs === undefined ? {} : { must: atMost(budgetMs) };
  return { name, value, unit: "ms CPU/request", ...must, note: `${matches} match` };
}

/** Reading, folding and filling one large graph. */
export const largeGraph: Case = {
  id: "h.graph",
  what: `one cluster of ${BIG_NODES} nodes with ${BIG_CORES} cores`,
  async run(bench) {
    const nodes = bench.count(BIG_NODES);
    const { graph, ms, cpuMs, bytes } = load(nodes);
    const foldMs = performance.now();
    const layout = layOut(graph, new Map());
    const fillMs = performance.now();
    const use = new Use(graph);
    const jobs = bench.count(1_000);
    for (let at = 0; at < jobs; at++) {
      const { allocation } = allocate(layout, request(16), use);
      if (allocation !== undefined) use.add(allocation);
    }
    const endMs = performance.now();
    bench.worked(jobs);
    const facts = Array.from({ length: nodes }, (_, at) => ({
      name: `n${at}`,
      cores: BIG_CORES,
      memoryBytes: 256e9,
      gpus: 4,
      sockets: 2,
      numa: 2,
    }));
    const factsMs = performance.now();
    const built = clusterGraph("big", facts);
    const builtMs = performance.now() - factsMs;
    return [
      {
        name: "read",
        value: ms / 1_000,
        unit: "s",
        must: atMost(2),
        note: `${graph.ids.length} vertices, ${(cpuMs / 1_000).toFixed(2)} s CPU`,
      },
      { name: "memory of the graph", value: bytes / MB, unit: "MB", must: atMost(200) },
      { name: "fold", value: fillMs - foldMs, unit: "ms", note: `${layout.shapes.length} shapes` },
      {
        name: "allocate 2 nodes with 16 cores",
        value: (endMs - fillMs) / jobs,
        unit: "ms",
        note: `${jobs} jobs, one after the other`,
      },
      {
        name: "from facts of its nodes",
        value: builtMs,
        unit: "ms",
        note: `${built.ids.length} vertices`,
      },
    ];
  },
};

/** In a separate function, so that the document can be collected before memory is measured. */
function load(nodes: number): { graph: Graph; ms: number; cpuMs: number; bytes: number } {
  const parse = (): { graph: Graph; ms: number; cpuMs: number } => {
    const document: unknown = JSON.parse(JSON.stringify(documentOf(nodes, () => BIG_CORES)));
    const startMs = performance.now();
    const start = process.cpuUsage();
    const graph = parseGraph(document);
    const { user, system } = process.cpuUsage(start);
    return { graph, ms: performance.now() - startMs, cpuMs: (user + system) / 1_000 };
  };
  const before = usedBytes();
  const parsed = parse();
  return { ...parsed, bytes: usedBytes() - before };
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function usedBytes(): number {
  collectGarbage();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
