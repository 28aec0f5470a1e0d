import { toJgf } from "../../graph/jgf.ts";
import { toSubsystemJgf } from "../../graph/subsystems/subsystem.ts";
import type { ClusterId } from "../../model/ids.ts";
import { isSchedulable, acceptsTasks } from "../../model/node/node.ts";
import { addInto, dominantShare } from "../../model/resources.ts";
import { isActive } from "../../model/job/task.ts";
import type { State } from "../state.ts";
import type { SeenJob } from "./all-jobs.ts";

/** The tallies of clusters equal the sums over their nodes and tasks. */
export function checkClusters(state: State, all: readonly SeenJob[]): string[] {
  const wrong: string[] = [];
  const tasks = new Map<string, number>();
  const count = (cluster: string): unknown => tasks.set(cluster, (tasks.get(cluster) ?? 0) + 1);
  for (const { rows } of all) {
    for (const { state: at } of rows) {
      if (at.kind === "offered") count(at.cluster);
      else if (isActive(at)) count(state.nodes.get(at.nodeId)?.node.cluster ?? "");
    }
  }
  for (const { id } of state.clusters.inOrder) {
    const { loads } = state.clusters;
    const want = tasks.get(id) ?? 0;
    if (loads.tasksOf(id) !== want)
      wrong.push(`cluster ${id} counts ${loads.tasksOf(id)} tasks, has ${want}`);
    const nodes = [...state.nodes.values()].filter(({ node }) => node.cluster === id);
    const capacity = {};
    const used = {};
    const agents = nodes.filter(({ node }) => node.clusterAgent !== undefined);
    const hasOnlyUnavailableAgents =
      agents.length > 0 && !agents.some(({ node }) => acceptsTasks(node));
    if (loads.hasOnlyUnavailableAgents(id) !== hasOnlyUnavailableAgents)
      wrong.push(
        `cluster ${id} is ${hasOnlyUnavailableAgents ? "" : "not "}without an agent that accepts tasks`,
      );
    for (const record of nodes) {
      if (isSchedulable(record.node)) addInto(capacity, record.node.capacity);
      addInto(used, record.used);
    }
    const share = Object.keys(capacity).length === 0 ? undefined : dominantShare(used, capacity);
    const known = loads.usedShare(id);
    if (known !== (share === undefined ? share : Math.min(1, share)))
      wrong.push(`cluster ${id} is used by ${known}, its nodes by ${share}`);
  }
  const managed = state.clusters.inOrder.filter(({ kind }) => kind === "managed").length;
  if (state.clusters.managedCount !== managed)
    wrong.push(`${state.clusters.managedCount} clusters are managed, not ${managed}`);
  return wrong;
}

/** Every credential belongs to an existing cluster. */
export const checkCredentials = ({ credentials, clusters }: State): string[] =>
  credentials.inOrder.flatMap(({ id }) =>
    "cluster" in id && clusters.get(id.cluster) === undefined
      ? [`there is a ${id.kind} of ${id.cluster}, which is no cluster`]
      : [],
  );

export function graphDigest({ clusters: { graphs } }: State, id: ClusterId): unknown {
  if (!graphs.has(id)) return undefined;
  const graph = graphs.graph(id);
  const subsystems = [...graphs.subsystems(id).values()];
  return {
    graph: toJgf(graph),
    subsystems: Object.fromEntries(
      subsystems.map((each) => [each.name, toSubsystemJgf(each, graph)]),
    ),
  };
}
