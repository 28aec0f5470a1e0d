import { invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { clusterGraph } from "../../graph/facts.ts";
import type { Graph } from "../../graph/graph.ts";
import { subsystemsOf } from "../../graph/subsystems/node-subsystems.ts";
import type { Subsystem } from "../../graph/subsystems/subsystem.ts";
import type { DeclaredSoftware } from "../../model/declared-software.ts";
import type { ClusterId, NodeId } from "../../model/ids.ts";
import type { Node } from "../../model/node/node.ts";
import type { NodeRecord } from "../nodes/node-record.ts";
import type { FactEntry, NodeFacts } from "../../model/node/node-facts.ts";

interface NodeFactsView {
  readonly nodes: ReadonlyMap<NodeId, NodeRecord>;
  factsOf(node: Node): NodeFacts;
}

/** The graph of a managed cluster, built from its nodes on each call: for display. */
export function managedGraph(
  state: NodeFactsView,
  id: ClusterId,
): { readonly graph: Graph; readonly subsystems: ReadonlyMap<string, Subsystem> } {
  const nodes = [...state.nodes.values()]
    .filter(({ node }) => node.cluster === id)
    .map(({ node }) => ({ ...state.factsOf(node), name: node.id }));
  const graph = clusterGraph(id, nodes);
  const subsystems = subsystemsOf(id, nodes, graph);
  return { graph, subsystems: new Map(subsystems.map((each) => [each.name, each])) };
}

/**
 * Converts a subsystem that was read for such a graph to declared software of its nodes. Rejects links
 * to parts of nodes: the facts of a node change, and its parts with them.
 */
export function toDeclared(id: ClusterId, subsystem: Subsystem, graph: Graph): DeclaredSoftware {
  const prefix = `/${id}/`;
  const entries = [...subsystem.links].flatMap(([vertex, own]) => {
    const place = graph.ids[vertex] ?? "";
    const node = place === `/${id}` ? undefined : place.slice(prefix.length);
    if (node?.includes("/") === true) {
      throw invalid(
        "graph.edges",
        `a link begins at ${place}; in a managed cluster links begin at /${id} or at a node, ` +
          `like ${prefix}${node.split("/", 1)[0]}`,
      );
    }
    return own.map((number) => {
      const entry: FactEntry = Object.fromEntries(subsystem.vertices[number]?.scalars ?? []);
      return node === undefined ? { entry } : { node, entry };
    });
  });
  if (entries.length > limits.factsEntriesMax) {
    const text = `at most ${limits.factsEntriesMax} links in a managed cluster`;
    throw invalid("graph.edges", `${text}, not ${entries.length}`);
  }
  return { id, name: subsystem.name, entries };
}
