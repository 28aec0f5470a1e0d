import { countsByType, type Graph } from "../../core/graph/graph.ts";
import type { Cluster } from "../../core/model/cluster.ts";
import type { ClusterId } from "../../core/model/ids.ts";
import type { Subsystem } from "../../core/graph/subsystems/subsystem.ts";
import { managedGraph } from "../../core/scheduler/explain/managed-graph.ts";
import type { NodeRecord } from "../../core/scheduler/nodes/node-record.ts";
import type { State } from "../../core/state/state.ts";
import { sum } from "../operations/node-operations.ts";
import { showClusterRow } from "./show-cluster-row.ts";
import type { ClusterView, CredentialTimesView, SubsystemView } from "./views.ts";

/** By name. Reads the nodes once, however many clusters there are. */
export function showClusters(state: State): ClusterView[] {
  const nodes = Map.groupBy(state.nodes.values(), ({ node }) => node.cluster);
  return state.clusters.inOrder.map((cluster) => show(state, cluster, nodes.get(cluster.id) ?? []));
}

export function showCluster(state: State, cluster: Cluster): ClusterView {
  const nodes = [...state.nodes.values()].filter(({ node }) => node.cluster === cluster.id);
  const view = show(state, cluster, nodes);
  if (cluster.kind === "pulling") return view;
  // Computed from all its nodes: fast enough for one cluster, too slow for all.
  const { graph, subsystems } = managedGraph(state, cluster.id);
  return {
    ...view,
    vertices: countsByType(graph),
    subsystems: showSubsystems(subsystems.values()),
  };
}

function show(state: State, cluster: Cluster, nodes: readonly NodeRecord[]): ClusterView {
  const { id, kind } = cluster;
  const { clusters } = state;
  const connected = nodes.filter(({ node }) => node.link.kind === "connected");
  return {
    ...showClusterRow(cluster, clusters.statusOf(id), clusters.revisionOf(id)),
    nodes: nodes.length,
    nodesConnected: connected.length,
    capacity: sum(connected.map(({ node }) => node.capacity)),
    used: sum(connected.map(({ used }) => used)),
    tasks: clusters.loads.tasksOf(id),
    vertices: kind === "pulling" ? countsOf(clusters.graphs.graph(id)) : {},
    subsystems: kind === "pulling" ? showSubsystems(clusters.graphs.subsystems(id).values()) : [],
    credentials: showCredentials(state, id),
  };
}

function showCredentials({ credentials }: State, cluster: ClusterId): CredentialTimesView {
  const secret = credentials.get({ kind: "cluster-secret", cluster });
  const token = credentials.get({ kind: "cluster-token", cluster });
  return {
    ...(secret && { secretSinceMs: secret.createdAtMs }),
    ...(token && { tokenSinceMs: token.createdAtMs }),
  };
}

/** A graph may have a million vertices, and is immutable. */
const countsByGraph = new WeakMap<Graph, Readonly<Record<string, number>>>();

function countsOf(graph: Graph): Readonly<Record<string, number>> {
  let counts = countsByGraph.get(graph);
  if (counts === undefined) countsByGraph.set(graph, (counts = countsByType(graph)));
  return counts;
}

const countsByLinks = new WeakMap<Subsystem["links"], number>();

function linkCount(links: Subsystem["links"]): number {
  let count = countsByLinks.get(links);
  if (count === undefined) {
    count = links.values().reduce((sum, own) => sum + own.length, 0);
    countsByLinks.set(links, count);
  }
  return count;
}

function showSubsystems(subsystems: Iterable<Subsystem>): SubsystemView[] {
  return [...subsystems]
    .map(({ name, vertices, links }) => ({
      name,
      vertices: vertices.length,
      links: linkCount(links),
    }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
