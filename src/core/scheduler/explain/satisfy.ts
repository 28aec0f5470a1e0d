import type { CompiledRequest } from "../../graph/match/compile-request.ts";
import { distinctRefusals } from "../../graph/match/refusal.ts";
import { graphRequest } from "../../graph/request/graph-request.ts";
import type { ResourceChoice } from "../../graph/request/request.ts";
import type { Cluster } from "../../model/cluster.ts";
import { clusterId, type ClusterId } from "../../model/ids.ts";
import { NO_RESOURCES } from "../../model/resources.ts";
import type { NodeRecord } from "../nodes/node-record.ts";
import type { ClusterReason } from "../clusters/cluster-reason.ts";
import { NodeClasses } from "../nodes/node-classes.ts";
import { managedAnswer, outlookByCluster, type PlacesView } from "./places.ts";

/** Whether one cluster can satisfy a request. */
export interface ClusterAnswer {
  readonly cluster: ClusterId;
  readonly kind: Cluster["kind"];
  /** With its whole capacity. */
  readonly ever: boolean;
  /** With its free capacity. For a pull cluster, only its own scheduler knows what is free. */
  readonly now: boolean;
  /** How many slots of the request would fit. */
  readonly slots: number;
  /** The alternative that fits; the first when none does. */
  readonly alternative: number;
  /** Why not, for each alternative; empty when it can. */
  readonly reasons: readonly ClusterReason[];
}

/**
 * The clusters that could satisfy a request, by name. `ofNodes` is the request to managed nodes, one
 * by one: processes that run by themselves are placed by themselves.
 */
export function satisfyChoice(
  state: PlacesView,
  choice: ResourceChoice,
  ofNodes = choice,
): { readonly clusters: readonly ClusterAnswer[] } {
  const clusters = [...pullingAnswers(state, choice), ...managedAnswers(state, ofNodes)];
  return { clusters: clusters.sort((a, b) => (a.cluster < b.cluster ? -1 : 1)) };
}

/** The answers of pull clusters to a request without resources. `names` undefined: all pull clusters, by name. */
export const satisfyEmptyRequest = (
  state: PlacesView,
  names: readonly string[] | undefined,
): readonly ClusterAnswer[] =>
  (names === undefined ? pullingOf(state) : pullingNamed(state, names)).map(({ id, kind }) => ({
    ...refused(id, kind, []),
    ever: true,
    now: true,
  }));

const pullingOf = ({ clusters }: PlacesView): readonly Cluster[] =>
  clusters.inOrder.filter(({ kind }) => kind === "pulling");

const pullingNamed = ({ clusters }: PlacesView, names: readonly string[]): readonly Cluster[] =>
  names.flatMap((name) => {
    const cluster = clusters.get(clusterId(name));
    return cluster?.kind === "pulling" ? [cluster] : [];
  });

/** Changes whenever the answers of pull clusters may have changed. */
export const answersVersion = ({ clusters }: PlacesView): string =>
  `${clusters.version}.${clusters.graphs.version}`;

export function pullingAnswers(
  state: PlacesView,
  choice: ResourceChoice,
): readonly ClusterAnswer[] {
  const { graphs } = state.clusters;
  const request = graphRequest(choice, "resources").compiled;
  const fitting = new Map(
    graphs.satisfy(request, "ever").matches.map((match) => [match.cluster, match]),
  );
  const reasonsOf = explainerOf(state, request);
  return pullingOf(state).map(({ id, kind }) => {
    const match = fitting.get(id);
    if (match === undefined) return refused(id, kind, reasonsOf(id));
    const { slots = 0, alternative } = match;
    return { cluster: id, kind, ever: true, now: true, slots, alternative, reasons: [] };
  });
}

/** Clusters with equal layouts have equal reasons: each layout is explained once. */
function explainerOf(
  { clusters: { graphs } }: PlacesView,
  request: CompiledRequest,
): (cluster: ClusterId) => readonly ClusterReason[] {
  const known = new Map<unknown, readonly ClusterReason[]>();
  return (cluster) => {
    const { shapes } = graphs.layout(cluster);
    let reasons = known.get(shapes);
    if (reasons === undefined) {
      const refusals = distinctRefusals(graphs.explain(cluster, request, "ever"));
      reasons = [{ kind: "graph", refusals }];
      known.set(shapes, reasons);
    }
    return reasons;
  };
}

function managedAnswers(state: PlacesView, choice: ResourceChoice): readonly ClusterAnswer[] {
  const request = { needs: NO_RESOURCES, request: choice, select: undefined, where: {} };
  const nodes = new NodeClasses(state, request);
  const classesOf = Map.groupBy(nodes.all, ({ cluster }) => cluster);
  const outlooks = outlookByCluster(request, nodes);
  return state.clusters.inOrder
    .filter(({ kind }) => kind === "managed")
    .map(({ id }) => {
      const { verdict, reasons } = managedAnswer(id, outlooks.get(id));
      const ever = verdict !== "never";
      const fitting = (ever ? (classesOf.get(id) ?? []) : []).map(({ record, count }) => {
        const { slots, alternative } = fittingIn(record, choice);
        return { slots: slots * count, alternative };
      });
      return {
        ...refused(id, "managed", reasons),
        ever,
        now: verdict === "yes",
        slots: fitting.reduce((sum, { slots }) => sum + slots, 0),
        alternative: Math.min(...fitting.map(({ alternative }) => alternative), choice.length - 1),
      };
    });
}

/** How many copies of the first alternative that fits would fit on an empty node. */
function fittingIn(
  { node: { capacity }, graph }: NodeRecord,
  choice: ResourceChoice,
): { readonly slots: number; readonly alternative: number } {
  const [way] = graph.waysFor(graphRequest(choice));
  if (way === undefined) return { slots: 0, alternative: Infinity };
  const { takes, alternative } = way;
  if (takes === undefined) return { slots: 1, alternative }; // all of it, whatever it is
  const times = Object.keys(takes).map((name) =>
    Math.floor((capacity[name] ?? 0) / (takes[name] ?? 1)),
  );
  return { slots: Math.min(...times), alternative };
}

const refused = (
  cluster: ClusterId,
  kind: Cluster["kind"],
  reasons: readonly ClusterReason[],
): ClusterAnswer => ({
  cluster,
  kind,
  ever: false,
  now: false,
  slots: 0,
  alternative: 0,
  reasons,
});
