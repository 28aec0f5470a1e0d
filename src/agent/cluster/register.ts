import type { BusbarClient } from "../../client/client.ts";
import type { JgfDocument } from "../../core/graph/jgf.ts";
import { AppError } from "../../lib/errors.ts";
import { isDeepEqual } from "../../lib/is-deep-equal.ts";
import type { ClusterDescription } from "../../ports/cluster-source.ts";
import type { AgentIdentity, DescriptionMark } from "./description.ts";
import { isSameGraph, marked, markOf } from "./description.ts";

/** The part of the API that an agent of a cluster uses. */
export type ClusterApi = Pick<
  BusbarClient,
  | "getCluster"
  | "getClusterGraph"
  | "registerCluster"
  | "getSubsystem"
  | "addSubsystem"
  | "removeSubsystem"
  | "setClusterState"
>;

export interface RegisterOptions {
  readonly cluster: string;
  /** The agent itself. */
  readonly agent: AgentIdentity;
  /** The graphs that the agent replaces when they differ: its own, any agent's, or everyone's. */
  readonly replaces: "own" | "agents" | "all";
}

export type Registered = "registered" | "updated" | "unchanged" | "kept";

/**
 * Updates the server's description of the cluster to this one (in its canonical form). Safe to repeat at any point: it reads first, and
 * changes only differences. "kept": another client registered the cluster with another graph, which stays unchanged.
 */
export async function registerCluster(
  api: ClusterApi,
  described: ClusterDescription,
  options: RegisterOptions,
): Promise<Registered> {
  const { cluster, agent } = options;
  const graph = marked(described, agent);
  const known = await findCluster(api, cluster);
  if (known === undefined) {
    await api.registerCluster({ name: cluster, graph: JSON.stringify(graph), update: false });
    for (const { name, document } of described.subsystems) await add(api, cluster, name, document);
    return "registered";
  }
  if (known.kind !== "pulling") {
    const what = `cluster ${cluster} has nodes with agents of their own; choose another name (--cluster)`;
    throw new AppError("already_exists", what);
  }
  const there = parse(await api.getClusterGraph({ name: cluster }));
  const names = new Set(known.subsystems.map(({ name }) => name));
  if (!mayReplace(markOf(there), options)) {
    if (!isSameGraph(there, graph)) return "kept";
    const missing = described.subsystems.filter(({ name }) => !names.has(name));
    for (const { name, document } of missing) await add(api, cluster, name, document);
    return missing.length === 0 ? "unchanged" : "updated";
  }
  return await update(api, cluster, { there, graph, names, described });
}

/** undefined: the cluster does not exist. */
export async function findCluster(api: Pick<ClusterApi, "getCluster">, name: string) {
  try {
    return await api.getCluster({ name });
  } catch (error) {
    if (error instanceof AppError && error.code === "not_found") return undefined;
    throw error;
  }
}

function mayReplace(
  mark: DescriptionMark | undefined,
  { replaces, agent }: RegisterOptions,
): boolean {
  if (replaces === "all") return true;
  return replaces === "agents" ? mark !== undefined : mark?.fingerprint === agent.fingerprint;
}

interface Difference {
  readonly there: JgfDocument;
  readonly graph: JgfDocument;
  readonly names: ReadonlySet<string>;
  readonly described: ClusterDescription;
}

async function update(
  api: ClusterApi,
  cluster: string,
  { there, graph, names, described }: Difference,
): Promise<Registered> {
  const own = new Set(described.subsystems.map(({ name }) => name));
  const gone = (markOf(there)?.subsystems ?? []).filter(
    (name) => names.has(name) && !own.has(name),
  );
  for (const name of gone) await api.removeSubsystem({ cluster, name });
  const isOther = !isSameGraph(there, graph);
  const present = new Set([...names].filter((name) => own.has(name)));
  let changes = gone.length;
  if (isOther || !isDeepEqual(markOf(there), markOf(graph))) {
    changes += 1;
    await replaceGraph(api, cluster, graph, present);
  }
  for (const { name, document } of described.subsystems) {
    const isThere = present.has(name) && (await isAsTold(api, cluster, name, document));
    if (isThere) continue;
    changes += 1;
    await add(api, cluster, name, document);
  }
  return changes === 0 ? "unchanged" : "updated";
}

/** Subsystems that will be registered again anyway may be linked to removed vertices: those subsystems are removed first. */
async function replaceGraph(
  api: ClusterApi,
  cluster: string,
  graph: JgfDocument,
  own: Set<string>,
): Promise<void> {
  const request = { name: cluster, graph: JSON.stringify(graph), update: true };
  try {
    await api.registerCluster(request);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== "conflict" || own.size === 0) throw error;
    for (const name of own) await api.removeSubsystem({ cluster, name });
    own.clear();
    await api.registerCluster(request);
  }
}

async function isAsTold(
  api: ClusterApi,
  cluster: string,
  name: string,
  document: JgfDocument,
): Promise<boolean> {
  return isDeepEqual(parse(await api.getSubsystem({ cluster, name })), document);
}

const add = (
  api: ClusterApi,
  cluster: string,
  name: string,
  document: JgfDocument,
): Promise<unknown> => api.addSubsystem({ cluster, name, graph: JSON.stringify(document) });

const parse = ({ graph }: { readonly graph: string }): JgfDocument =>
  JSON.parse(graph) as JgfDocument;
