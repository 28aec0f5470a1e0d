import { invariant } from "../../lib/invariant.ts";
import type { ClusterId } from "../../core/model/ids.ts";
import type { NodeRecord } from "../../core/scheduler/nodes/node-record.ts";
import { chooseCluster, type ClusterPolicy } from "../../core/scheduler/clusters/choose-cluster.ts";
import {
  type ClusterVerdict,
  type PlacesView,
  pullingAnswer,
} from "../../../src/core/scheduler/explain/places.ts";
import type { ClusterReason } from "../../../src/core/scheduler/clusters/cluster-reason.ts";
import { judge, outlook } from "./explain.ts";
import { mayGoToClusters, type Request } from "../../../src/core/scheduler/request.ts";

/** The result of each cluster for a request, in the order of their names. */
export function clusterAnswers(
  view: PlacesView,
  request: Request,
  policy: ClusterPolicy,
): readonly ClusterVerdict[] {
  const byCluster = Map.groupBy(view.nodes.values(), ({ node }) => node.cluster);
  const answers = view.clusters.inOrder.map(({ id, kind }) =>
    kind === "managed"
      ? managedAnswer(view, id, request, byCluster.get(id) ?? [])
      : pullingAnswer(view.clusters, id, request),
  );
  return dropUnwanted(view, request, policy, answers);
}

export function managedAnswer(
  { filters }: PlacesView,
  cluster: ClusterId,
  request: Request,
  nodes: readonly NodeRecord[],
): ClusterVerdict {
  const base = { cluster, kind: "managed" } as const;
  const seen = outlook(request, { nodes, filters });
  if (seen.now > 0) return { ...base, verdict: "yes", reasons: [] };
  const reasons: readonly ClusterReason[] =
    nodes.length === 0 ? [{ kind: "no-nodes" }] : [{ kind: "nodes", reasons: seen.reasons }];
  return { ...base, verdict: seen.later > 0 ? "not-now" : "never", reasons };
}

/** The clusters with free capacity that the policy of choosing clusters drops. */
function dropUnwanted(
  { nodes, clusters, filters }: PlacesView,
  request: Request,
  policy: ClusterPolicy,
  answers: readonly ClusterVerdict[],
): readonly ClusterVerdict[] {
  if (request.request === undefined && !mayGoToClusters(request)) return answers;
  const ready = new Map<ClusterId, NodeRecord>();
  for (const record of nodes.values()) {
    const { cluster } = record.node;
    if (!ready.has(cluster) && judge(filters, request, record).kind === "yes")
      ready.set(cluster, record);
  }
  const { selection } = chooseCluster(clusters, request, ready, policy);
  const reasons = new Map(selection.dropped.map(({ name, reason }) => [name, reason]));
  for (const { name } of selection.ranked) reasons.delete(name); // by a later priority
  return answers.map((answer) => {
    const reason = reasons.get(answer.cluster);
    if (reason === undefined) return answer;
    invariant(answer.verdict === "yes", "only clusters that could take it are chosen from");
    return { ...answer, verdict: "not-now", reasons: [{ kind: "dropped", reason }] };
  });
}

/** Whether any registered node or cluster can run the request, whatever else runs there. */
export function isPossible({ nodes, clusters, filters }: PlacesView, request: Request): boolean {
  for (const record of nodes.values()) {
    if (judge(filters, request, record).kind !== "never") return true;
  }
  return clusters.inOrder.some(
    ({ id, kind }) =>
      kind === "pulling" && pullingAnswer(clusters, id, request).verdict !== "never",
  );
}
