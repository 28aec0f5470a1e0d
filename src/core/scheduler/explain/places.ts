import { invariant } from "../../../lib/invariant.ts";
import { distinctRefusals } from "../../graph/match/refusal.ts";
import type { ClusterId } from "../../model/ids.ts";
import { isShareRequest } from "../../model/job/energy.ts";
import type { Cluster } from "../../model/cluster.ts";
import type { ClusterTable } from "../clusters/cluster-table.ts";
import type { NodeRecord } from "../nodes/node-record.ts";
import { chooseCluster, type ClusterPolicy } from "../clusters/choose-cluster.ts";
import type { ClusterReason } from "../clusters/cluster-reason.ts";
import { type Outlook, outlook } from "./explain.ts";
import type { Verdict } from "../filters/filter.ts";
import { NodeClasses, type NodesView } from "../nodes/node-classes.ts";
import { clusterRequestOf, mayGoToClusters, type Request } from "../request.ts";

/** The state that explanations read. */
export interface PlacesView extends NodesView {
  readonly clusters: ClusterTable;
}

/** The answer of a cluster to a request. */
export interface ClusterVerdict {
  readonly cluster: ClusterId;
  readonly kind: Cluster["kind"];
  /** yes: now; not-now: time, or a new report of the cluster, can change it. */
  readonly verdict: Verdict["kind"];
  /** Why not, the most informative first. */
  readonly reasons: readonly ClusterReason[];
}

/** The answers of all clusters to a request, by name. */
export function clusterAnswers(
  view: PlacesView,
  request: Request,
  policy: ClusterPolicy,
  nodes = new NodeClasses(view, request),
): readonly ClusterVerdict[] {
  const outlooks = outlookByCluster(request, nodes);
  const answers = view.clusters.inOrder.map(({ id, kind }) =>
    kind === "managed"
      ? managedAnswer(id, outlooks.get(id))
      : pullingAnswer(view.clusters, id, request),
  );
  return dropUnwanted(view.clusters, request, policy, { answers, nodes });
}

/** The answers of pull clusters to a request, by name, regardless of nodes. */
export const pullingAnswers = (
  { clusters }: PlacesView,
  request: Request,
  policy: ClusterPolicy,
  nodes: NodeClasses,
): readonly ClusterVerdict[] =>
  dropUnwanted(clusters, request, policy, {
    answers: clusters.inOrder
      .filter(({ kind }) => kind === "pulling")
      .map(({ id }) => pullingAnswer(clusters, id, request)),
    nodes,
  });

/** For clusters that have nodes. */
export function outlookByCluster(
  request: Request,
  nodes: NodeClasses,
): ReadonlyMap<ClusterId, Outlook> {
  const byCluster = Map.groupBy(nodes.all.keys(), (at) => nodes.all[at]?.cluster);
  const outlooks = new Map<ClusterId, Outlook>();
  for (const [cluster, numbers] of byCluster) {
    if (cluster !== undefined) outlooks.set(cluster, outlook(request, nodes, numbers));
  }
  return outlooks;
}

export function managedAnswer(cluster: ClusterId, seen: Outlook | undefined): ClusterVerdict {
  const base = { cluster, kind: "managed" } as const;
  if (seen === undefined) return { ...base, verdict: "never", reasons: [{ kind: "no-nodes" }] };
  if (seen.now > 0) return { ...base, verdict: "yes", reasons: [] };
  const reasons = [{ kind: "nodes", reasons: seen.reasons }] as const;
  return { ...base, verdict: seen.later > 0 ? "not-now" : "never", reasons };
}

export function pullingAnswer(
  { graphs }: ClusterTable,
  cluster: ClusterId,
  request: Request,
): ClusterVerdict {
  const never = (reason: ClusterReason): ClusterVerdict => {
    return { cluster, kind: "pulling", verdict: "never", reasons: [reason] };
  };
  const { where } = request;
  if (where.cluster !== undefined && where.cluster !== cluster) {
    return never({ kind: "other-cluster", asked: where.cluster });
  }
  if (where.kind === "managed") return never({ kind: "managed-only" });
  if (isShareRequest(request.needs)) return never({ kind: "energy-asked" });
  if (where.containers === true) return never({ kind: "containers-asked" });
  if (where.attach === true) return never({ kind: "attach-asked" });
  const asked = clusterRequestOf(request);
  if (asked === undefined) {
    const isOfNodes = where.node !== undefined || where.labels !== undefined;
    return never({ kind: isOfNodes ? "node-or-labels-asked" : "not-asked-for" });
  }
  if (graphs.match(cluster, asked.compiled).fits) {
    return { cluster, kind: "pulling", verdict: "yes", reasons: [] };
  }
  const refusals = distinctRefusals(graphs.explain(cluster, asked.compiled, "ever"));
  return never({ kind: "graph", refusals });
}

/** Clusters with free capacity that the selection strategy drops. */
function dropUnwanted(
  clusters: ClusterTable,
  request: Request,
  policy: ClusterPolicy,
  { answers, nodes }: { readonly answers: readonly ClusterVerdict[]; readonly nodes: NodeClasses },
): readonly ClusterVerdict[] {
  if (request.request === undefined && !mayGoToClusters(request)) return answers;
  const ready = new Map<ClusterId, NodeRecord>();
  const verdicts = nodes.verdicts(request);
  for (const [at, { cluster, record }] of nodes.all.entries()) {
    if (!ready.has(cluster) && verdicts[at]?.kind === "yes") ready.set(cluster, record);
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

const FIRST_NODES = 16;

/** Whether the request is satisfiable by any registered node or cluster, regardless of load. */
export function isPossible(view: PlacesView, request: Request): boolean {
  const { nodes, clusters, filters } = view;
  // Most requests are possible on the first nodes.
  let looked = 0;
  for (const record of nodes.values()) {
    if (++looked > FIRST_NODES) break;
    if (filters.everAllows(request, record)) return true;
  }
  if (looked > FIRST_NODES) {
    const classes = new NodeClasses(view, request);
    if (classes.all.some(({ record }) => filters.everAllows(request, record))) return true;
  }
  const { cluster: named } = request.where;
  const asked = clusters.graphs.isEmpty ? undefined : clusterRequestOf(request);
  if (asked === undefined) return false;
  const { graphs } = clusters;
  if (named === undefined) return graphs.isPossible(asked.compiled);
  return graphs.has(named) && graphs.match(named, asked.compiled).fits;
}
