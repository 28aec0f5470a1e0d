import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { NodeFacts } from "../model/node/node-facts.ts";
import { arrange, type Graph, NO_PARENT } from "./graph.ts";
import { canonicalJson, type Scalar } from "./metadata.ts";
import { type Kind, VertexTableBuilder } from "./vertex-table.ts";

/** The facts of a machine that its graph shows, with its name. */
export interface MachineFacts extends Pick<
  NodeFacts,
  "cores" | "sockets" | "numa" | "memoryBytes" | "gpus"
> {
  readonly name: string;
  readonly others?: NodeFacts["others"];
  /** Metadata of the node's vertex, for display. */
  readonly metadata?: Readonly<Record<string, Scalar>>;
}

/** The id of a node's vertex in the graph of its cluster. */
export const nodeVertexId = (cluster: string, node: string): string => `/${cluster}/${node}`;

/** A node's name cannot end in a slash, so this is the id of no node. */
const rackVertexId = (cluster: string): string => `/${cluster}/rack/`;

/**
 * Builds a cluster's graph from its nodes. Equal cores become one vertex with a size, so a node of
 * any size takes a handful of vertices. Ids are paths: "/cluster/node/core". All nodes are in one
 * rack, because jobspecs may name that level and Busbar does not know the real racks.
 */
export function clusterGraph(cluster: string, nodes: readonly MachineFacts[]): Graph {
  const tree = new Tree();
  const root = tree.add(NO_PARENT, `/${cluster}`, { type: "cluster", size: 1, unit: "" });
  const rack = tree.add(root, rackVertexId(cluster), { type: "rack", size: 1, unit: "" });
  const names = new Set<string>();
  for (const [at, facts] of nodes.entries()) {
    if (names.has(facts.name)) throw invalid(`nodes[${at}].name`, "appears twice");
    names.add(facts.name);
    addNode(tree, rack, nodeVertexId(cluster, facts.name), facts, `nodes[${at}]`);
  }
  return tree.toGraph();
}

/** The graph of one machine. */
export function nodeGraph(facts: MachineFacts): Graph {
  const tree = new Tree();
  addNode(tree, NO_PARENT, `/${facts.name}`, facts, "node");
  return tree.toGraph();
}

function addNode(tree: Tree, above: number, id: string, facts: MachineFacts, field: string): void {
  for (const name of ["cores", "memoryBytes", "gpus", "sockets", "numa"] as const) {
    if (!Number.isSafeInteger(facts[name]) || facts[name] < 0) {
      throw invalid(`${field}.${name}`, `must be a whole number, not ${facts[name]}`);
    }
  }
  if (facts.name === "" || facts.name.length > limits.nameLengthMax) {
    throw invalid(`${field}.name`, `must have 1 to ${limits.nameLengthMax} characters`);
  }
  const node = tree.add(above, id, { type: "node", size: 1, unit: "" });
  tree.describe(node, { ...facts.metadata, name: facts.name }, `${field}.metadata`);
  const parts = domainsOf(tree, node, id, facts);
  parts.forEach(({ vertex, path }, at) => {
    tree.addSome(vertex, `${path}/core`, "core", shareOf(facts.cores, parts.length, at), "");
  });
  // Memory belongs to a NUMA domain only where domains are known: a socket alone says nothing about
  // memory.
  const holders = facts.numa > 1 ? parts : [{ vertex: node, path: id }];
  holders.forEach(({ vertex, path }, at) => {
    const bytes = shareOf(facts.memoryBytes, holders.length, at);
    tree.addSome(vertex, `${path}/memory`, "memory", bytes, "B");
  });
  tree.addSome(node, `${id}/gpu`, "gpu", facts.gpus, "");
  for (const [name, amount] of Object.entries(facts.others ?? {})) {
    // A resource name may contain slashes. Below "other" it cannot spell the id of another vertex.
    tree.addSome(node, `${id}/other/${name}`, name, amount, "");
  }
}

interface Part {
  readonly vertex: number;
  readonly path: string;
}

/** The smallest parts of a node that hold cores: its NUMA domains, its sockets, or the node. */
function domainsOf(tree: Tree, node: number, id: string, facts: MachineFacts): readonly Part[] {
  const within = (holders: readonly Part[], type: string, count: number): readonly Part[] => {
    if (count <= 1) return holders;
    if (count > limits.machinePartsMax) throw invalid(type, `${count} in one node are too many`);
    return holders.flatMap(({ vertex, path }, at) =>
      Array.from({ length: shareOf(count, holders.length, at) }, (_, number) => {
        const inner = `${path}/${type}${number}`;
        return { vertex: tree.add(vertex, inner, { type, size: 1, unit: "" }), path: inner };
      }),
    );
  };
  const sockets = within([{ vertex: node, path: id }], "socket", facts.sockets);
  // Fewer domains than sockets cannot be shown as parts of sockets.
  return facts.numa < sockets.length ? sockets : within(sockets, "numa", facts.numa);
}

/**
 * The size of part number `at` when `total` is divided evenly into whole pieces; the first parts
 * get the remainder.
 */
const shareOf = (total: number, parts: number, at: number): number =>
  Math.floor(total / parts) + (at < total % parts ? 1 : 0);

class Tree {
  readonly #builder = new VertexTableBuilder(limits.graphTypesMax);
  readonly #parents: number[] = [];

  add(above: number, id: string, kind: Kind): number {
    this.#parents.push(above);
    return this.#builder.add(id, kind, () => id);
  }

  addSome(above: number, id: string, type: string, size: number, unit: string): void {
    if (size > 0) this.add(above, id, { type, size, unit });
  }

  describe(vertex: number, metadata: Readonly<Record<string, Scalar>>, field: string): void {
    this.#builder.describe(vertex, undefined, canonicalJson(metadata, field));
  }

  toGraph(): Graph {
    return arrange(this.#builder.table, Int32Array.from(this.#parents));
  }
}
