import { clusterGraph } from "../../core/graph/facts.ts";
import type { JgfDocument } from "../../core/graph/jgf.ts";
import { parseGraph, toJgf } from "../../core/graph/jgf.ts";
import { subsystemsOf } from "../../core/graph/subsystems/node-subsystems.ts";
import { parseSubsystem, toSubsystemJgf } from "../../core/graph/subsystems/subsystem.ts";
import type { NodeFacts } from "../../core/model/node/node-facts.ts";
import { isDeepEqual } from "../../lib/is-deep-equal.ts";
import type { ClusterDescription } from "../../ports/cluster-source.ts";

/**
 * Metadata of the first root vertex: which agent registered the graph, and which subsystems with it.
 * A graph that another client registered does not have it.
 */
const MARK = "busbar_agent";

export interface DescriptionMark extends AgentIdentity {
  readonly subsystems: readonly string[];
}

/** Any agent may take a free name first; only the fingerprint of its key identifies the agent. */
export interface AgentIdentity {
  readonly name: string;
  readonly fingerprint: string;
}

/** A description in the form in which the server returns it, so that the two can be compared. */
export function canonical({ graph: document, subsystems }: ClusterDescription): ClusterDescription {
  const graph = parseGraph(document);
  const sorted = [...subsystems].sort((a, b) => (a.name < b.name ? -1 : 1));
  return {
    graph: toJgf(graph),
    subsystems: sorted.map(({ name, document }) => ({
      name,
      document: toSubsystemJgf(parseSubsystem(name, document, graph), graph),
    })),
  };
}

/** The graph with the name of the agent that registers it. */
export function marked(
  { graph, subsystems }: ClusterDescription,
  { name, fingerprint }: AgentIdentity,
): JgfDocument {
  const mark: DescriptionMark = {
    name,
    fingerprint,
    subsystems: subsystems.map((each) => each.name),
  };
  return withRoot(graph, (metadata) => ({ ...metadata, [MARK]: mark }));
}

/** The agent that registered the graph; undefined: no agent did. */
export function markOf(graph: JgfDocument): DescriptionMark | undefined {
  const [root] = rootsOf(graph);
  return root === undefined ? undefined : readMark(graph.graph.nodes[root]?.metadata ?? {});
}

/** Whether the agent with this fingerprint registered the vertex as the root of its graph. */
export const isToldBy = (
  metadata: Readonly<Record<string, unknown>>,
  fingerprint: string,
): boolean => readMark(metadata)?.fingerprint === fingerprint;

function readMark(metadata: Readonly<Record<string, unknown>>): DescriptionMark | undefined {
  const mark = metadata[MARK];
  if (typeof mark !== "object" || mark === null) return undefined;
  const { name, fingerprint, subsystems } = mark as Readonly<Record<string, unknown>>;
  if (typeof name !== "string" || typeof fingerprint !== "string") return undefined;
  const names = Array.isArray(subsystems) ? (subsystems as readonly unknown[]) : [];
  return { name, fingerprint, subsystems: names.filter((each) => typeof each === "string") };
}

/** Whether both describe the cluster in the same way, whoever registered them. */
export const isSameGraph = (one: JgfDocument, other: JgfDocument): boolean =>
  isDeepEqual(withoutMark(one), withoutMark(other));

const withoutMark = (graph: JgfDocument): JgfDocument =>
  withRoot(graph, ({ [MARK]: _mark, ...metadata }) => metadata);

function withRoot(
  { graph }: JgfDocument,
  change: (metadata: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>,
): JgfDocument {
  const [root] = rootsOf({ graph });
  const vertex = root === undefined ? undefined : graph.nodes[root];
  if (root === undefined || vertex === undefined) return { graph };
  const nodes = { ...graph.nodes, [root]: { ...vertex, metadata: change(vertex.metadata) } };
  return { graph: { ...graph, nodes } };
}

/** The ids of root vertices, in the order of the document. */
export function rootsOf({ graph: { nodes, edges } }: JgfDocument): readonly string[] {
  const contained = new Set(edges.map(({ target }) => target));
  return Object.keys(nodes).filter((id) => !contained.has(id));
}

/** This machine alone as a cluster. */
export function describeMachine(
  cluster: string,
  machine: string,
  facts: NodeFacts,
): ClusterDescription {
  const node = { name: machine, ...facts };
  const graph = clusterGraph(cluster, [node]);
  const subsystems = subsystemsOf(cluster, [node], graph).map((each) => ({
    name: each.name,
    document: toSubsystemJgf(each, graph),
  }));
  return { graph: toJgf(graph), subsystems };
}

/**
 * The scheduler's description of its cluster, completed with the facts of this machine, which is a node or the front end of the cluster:
 * facts that the scheduler does not report hold for the whole cluster.
 */
export function withMachine(
  described: ClusterDescription,
  { software }: NodeFacts,
): ClusterDescription {
  const roots = rootsOf(described.graph);
  const told = new Set(described.subsystems.map(({ name }) => name));
  const machine = describeMachine("cluster", "machine", { ...NOTHING_COUNTED, software });
  const added = machine.subsystems
    .filter(({ name }) => !told.has(name))
    .map(({ name, document: { graph } }) => {
      const edges = graph.edges.flatMap((edge) => roots.map((source) => ({ ...edge, source })));
      return { name, document: { graph: { ...graph, edges } } };
    });
  return { graph: described.graph, subsystems: [...described.subsystems, ...added] };
}

const NOTHING_COUNTED = { cores: 0, sockets: 0, numa: 0, memoryBytes: 0, gpus: 0, others: {} };
