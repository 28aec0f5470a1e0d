import { type CompiledRequest, compileRequest } from "../graph/compile-request.ts";
import type { ResourceChoice } from "../graph/request.ts";
import type { Cluster } from "../model/cluster.ts";
import type { ClusterId } from "../model/ids.ts";
import type { State } from "../state/state.ts";

/** Whether one cluster could meet a request. */
export interface ClusterAnswer {
  readonly cluster: ClusterId;
  readonly kind: Cluster["kind"];
  /** With all that it has. */
  readonly ever: boolean;
  /** With what is free; what a pulling cluster runs is its own scheduler's business. */
  readonly now: boolean;
  /** How often the request's slot would fit. */
  readonly slots: number;
  /** Which alternative fits; where none does, the first. */
  readonly alternative: number;
  /** Why not, for each alternative; empty when it can. */
  readonly reasons: readonly string[];
}

/** Which clusters could meet a request, by name. */
export function satisfyChoice(
  state: State,
  choice: ResourceChoice,
): { readonly clusters: readonly ClusterAnswer[] } {
  const clusters = [...pullingAnswers(state, choice), ...managedAnswers(state, choice)];
  return { clusters: clusters.sort((a, b) => (a.cluster < b.cluster ? -1 : 1)) };
}

function pullingAnswers(state: State, choice: ResourceChoice): readonly ClusterAnswer[] {
  const { graphs, inOrder } = state.clusters;
  const request = compileRequest(choice);
  const fitting = new Map(
    graphs.satisfy(request, "ever").matches.map((match) => [match.cluster, match]),
  );
  const reasonsOf = explainerOf(state, request);
  return inOrder
    .filter(({ kind }) => kind === "pulling")
    .map(({ id, kind }) => {
      const match = fitting.get(id);
      return match === undefined
        ? refused(id, kind, reasonsOf(id))
        : {
            cluster: id,
            kind,
            ever: true,
            now: true,
            slots: match.slots ?? 0,
            alternative: match.alternative,
            reasons: [],
          };
    });
}

/** Clusters that are laid out alike are refused alike: each kind of them is explained once. */
function explainerOf(
  { clusters: { graphs } }: State,
  request: CompiledRequest,
): (cluster: ClusterId) => readonly string[] {
  const known = new Map<unknown, readonly string[]>();
  return (cluster) => {
    const { shapes } = graphs.layout(cluster);
    let reasons = known.get(shapes);
    if (reasons === undefined) {
      const refusals = graphs.explain(cluster, request, "ever");
      reasons = [...new Set(refusals.map(({ text }) => text))];
      known.set(shapes, reasons);
    }
    return reasons;
  };
}

/** Clusters with agents: their graph would have to be put together from what these tell. */
function managedAnswers(state: State, _choice: ResourceChoice): readonly ClusterAnswer[] {
  return state.clusters.inOrder
    .filter(({ kind }) => kind === "managed")
    .map(({ id, kind }) =>
      refused(id, kind, ["matching of clusters with agents is not built in yet"]),
    );
}

const refused = (
  cluster: ClusterId,
  kind: Cluster["kind"],
  reasons: readonly string[],
): ClusterAnswer => ({
  cluster,
  kind,
  ever: false,
  now: false,
  slots: 0,
  alternative: 0,
  reasons,
});
