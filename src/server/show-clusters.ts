import { countsByType, type Graph } from "../core/graph/graph.ts";
import type { Cluster } from "../core/model/cluster.ts";
import type { ClusterId } from "../core/model/ids.ts";
import type { NodeRecord } from "../core/state/node-record.ts";
import type { State } from "../core/state/state.ts";
import { sum } from "./node-operations.ts";
import type { ClusterView, SubsystemView } from "./views.ts";

/** By name. Nodes are looked at once, however many clusters there are. */
export function showClusters(state: State): ClusterView[] {
  const nodes = Map.groupBy(state.nodes.values(), ({ node }) => node.cluster);
  return state.clusters.inOrder.map((cluster) => show(state, cluster, nodes.get(cluster.id) ?? []));
}

export const showCluster = (state: State, cluster: Cluster): ClusterView =>
  show(
    state,
    cluster,
    [...state.nodes.values()].filter(({ node }) => node.cluster === cluster.id),
  );

function show(
  state: State,
  { id, kind, createdAtMs }: Cluster,
  nodes: readonly NodeRecord[],
): ClusterView {
  const connected = nodes.filter(({ node }) => node.link.kind === "connected");
  const status = state.clusters.statusOf(id);
  const told = Object.entries(status.state).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    name: id,
    kind,
    createdAtMs,
    nodes: nodes.length,
    nodesConnected: connected.length,
    capacity: sum(connected.map(({ node }) => node.capacity)),
    used: sum(connected.map(({ used }) => used)),
    tasks: nodes.reduce((count, { tasks }) => count + tasks.size, 0),
    vertices: kind === "pulling" ? countsOf(state.clusters.graphs.graph(id)) : {},
    subsystems: kind === "pulling" ? showSubsystems(state, id) : [],
    state: told.map(([key, { value, setAtMs }]) => ({ key, value, setAtMs })),
    counters: status.counters,
  };
}

/** A graph may have a million vertices, and never changes. */
const countsByGraph = new WeakMap<Graph, Readonly<Record<string, number>>>();

function countsOf(graph: Graph): Readonly<Record<string, number>> {
  let counts = countsByGraph.get(graph);
  if (counts === undefined) countsByGraph.set(graph, (counts = countsByType(graph)));
  return counts;
}

function showSubsystems(state: State, id: ClusterId): SubsystemView[] {
  return [...state.clusters.graphs.subsystems(id).values()]
    .map(({ name, vertices, links }) => ({
      name,
      vertices: vertices.length,
      links: links.values().reduce((count, own) => count + own.length, 0),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
