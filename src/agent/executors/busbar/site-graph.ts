import type { JgfDocument, JgfVertex } from "../../../core/graph/jgf.ts";
import { isShareResource } from "../../../core/model/job/energy.ts";
import type { Node } from "../../../gen/busbar/v1/busbar_pb.ts";

/** A cluster below, as its Busbar describes it. */
export interface ClusterBelow {
  readonly name: string;
  readonly graph: JgfDocument;
  readonly subsystems: readonly { readonly name: string; readonly document: JgfDocument }[];
}

/** The fields of a node below that its vertex shows beside its resources. */
export type NodeBelow = Pick<Node, "name" | "cluster" | "state" | "labels"> &
  Partial<Pick<Node, "power">>;

/** It represents the edges of a site further below, whose machines are in the graph of that site's own cluster. */
export const isSiteNode = ({ power }: Pick<NodeBelow, "power">): boolean =>
  power?.edges !== undefined;

/**
 * The graph of a site: a vertex of its own that contains the clusters below. Ids of vertices below get the site's id as a prefix. Vertices
 * of nodes show the state of their node, and its labels: "label.disk" is "ssd".
 */
export function siteGraph(
  site: string,
  clusters: readonly ClusterBelow[],
  nodes: readonly NodeBelow[],
): JgfDocument {
  const root = `/${site}`;
  const byId = new Map(nodes.map((node) => [`/${node.cluster}/${node.name}`, node]));
  const vertices: [string, JgfVertex][] = [
    [root, { label: site, metadata: { type: "site", name: site } }],
  ];
  const edges: JgfDocument["graph"]["edges"][number][] = [];
  const hidden = nodes.filter(isSiteNode).map(({ cluster, name }) => `/${cluster}/${name}`);
  for (const { graph: document } of clusters) {
    const graph = without(document, hidden);
    const contained = new Set(graph.edges.map(({ target }) => target));
    for (const [id, vertex] of Object.entries(graph.nodes)) {
      const inner = innerId(site, id);
      vertices.push([inner, shown(vertex, byId.get(id))]);
      if (!contained.has(id)) edges.push({ source: root, target: inner, relation: "contains" });
    }
    for (const { source, target, relation } of graph.edges) {
      edges.push({ source: innerId(site, source), target: innerId(site, target), relation });
    }
  }
  return { graph: { directed: true, nodes: Object.fromEntries(vertices), edges } };
}

/**
 * Slots for shares of jobs with energy follow from power: they are no part of a machine that jobs request. Nodes that represent a site are
 * not machines.
 */
function without(
  { graph: { nodes, edges } }: JgfDocument,
  hidden: readonly string[],
): Pick<JgfDocument["graph"], "nodes" | "edges"> {
  const isPlace = (id: string): boolean => isShareResource(String(nodes[id]?.metadata["type"]));
  const isHidden = (id: string): boolean =>
    isPlace(id) || hidden.some((node) => id === node || id.startsWith(`${node}/`));
  return {
    nodes: Object.fromEntries(Object.entries(nodes).filter(([id]) => !isHidden(id))),
    edges: edges.filter(({ target }) => !isHidden(target)),
  };
}

/** Each subsystem once, merged over all clusters below. */
export function siteSubsystems(
  site: string,
  clusters: readonly ClusterBelow[],
): ClusterBelow["subsystems"] {
  const parts = clusters.flatMap(({ name: cluster, subsystems }) =>
    subsystems.map(({ name, document: { graph } }) => {
      const own = (id: string): string => `${cluster}:${id}`;
      const end = (id: string): string => (id in graph.nodes ? own(id) : innerId(site, id));
      const nodes = Object.entries(graph.nodes).map(([id, vertex]) => [own(id), vertex] as const);
      const edges = graph.edges.map(({ source, target, relation }) => {
        return { source: end(source), target: end(target), relation };
      });
      return { name, nodes, edges };
    }),
  );
  return Array.from(
    Map.groupBy(parts, ({ name }) => name),
    ([name, some]) => {
      const nodes = Object.fromEntries(some.flatMap((part) => part.nodes));
      const edges = some.flatMap((part) => part.edges);
      return { name, document: { graph: { directed: true, nodes, edges } } };
    },
  );
}

const innerId = (site: string, id: string): string =>
  id.startsWith("/") ? `/${site}${id}` : `/${site}/${id}`;

function shown(vertex: JgfVertex, node: NodeBelow | undefined): JgfVertex {
  if (node === undefined || vertex.metadata["type"] !== "node") return vertex;
  const labels = Object.entries(node.labels).map(([key, value]) => [`label.${key}`, value]);
  const metadata = { ...vertex.metadata, ...Object.fromEntries(labels), state: node.state };
  return { label: vertex.label, metadata };
}
