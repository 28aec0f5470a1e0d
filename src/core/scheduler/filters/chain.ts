import { NO_RESOURCES, type Resources } from "../../model/resources.ts";
import type { Node } from "../../model/node/node.ts";
import type { Request } from "../request.ts";
import { attachesClients } from "./attaches-clients.ts";
import type { Filter, FilterNode, Question, Verdict } from "./filter.ts";
import { graphMatches } from "./graph-matches.ts";
import { hasLabels } from "./has-labels.ts";
import { hasResources } from "./has-resources.ts";
import { inCluster } from "./in-cluster.ts";
import { managedNode } from "./managed-node.ts";
import { namedNode } from "./named-node.ts";
import { nodeReady } from "./node-ready.ts";
import { portFree } from "./port-free.ts";
import type { Reason } from "./reason.ts";
import { resourcesFit } from "./resources-fit.ts";
import { startsContainers } from "./starts-containers.ts";
import { takesShares } from "./takes-shares.ts";

/** The most informative reasons first. */
export const filters: readonly Filter[] = [
  managedNode,
  takesShares,
  inCluster,
  namedNode,
  hasLabels,
  startsContainers,
  attachesClients,
  graphMatches,
  hasResources,
  nodeReady,
  portFree,
  resourcesFit,
];

const YES: Verdict = { kind: "yes" };
/** For questions whose answer is the same for all requests. */
const ANY: Request = { needs: NO_RESOURCES, request: undefined, select: undefined, where: {} };
/** A place that every node has. */
const ANYWHERE = "any";

type Allows = Question["allows"];

/**
 * All filters as one. Admission, planner, `verify`, dry runs and explanations ask only this chain
 * whether a node can take a task, so that they cannot disagree.
 */
export class FilterChain {
  readonly filters: readonly Filter[];
  readonly #ever: readonly Question[];
  readonly #now: readonly Question[];
  /** Called when a node's row changes. */
  readonly #ofRow: Allows;
  /** Called when a node is added to a pool. */
  readonly #ofPool: readonly Question[];
  /** The remaining questions for ready nodes in the pool of the request. */
  readonly allowsInPool: Allows;
  /** The remaining questions for ready nodes. */
  readonly allowsReady: Allows;
  readonly #requestKeys: readonly ((request: Request) => string)[];
  readonly #places: readonly NonNullable<Filter["place"]>[];
  /** Nodes with less free capacity than this are rejected now. */
  readonly leastFree: (request: Request) => Resources;

  constructor(all: readonly Filter[] = filters) {
    this.filters = all;
    this.#ever = all.flatMap(({ ever }) => ever ?? []);
    this.#now = all.flatMap(({ now }) => now ?? []);
    this.#ofRow = together(all.flatMap(({ now, nowFollowsRow }) => (nowFollowsRow && now) ?? []));
    this.#ofPool = all.flatMap(({ ever, requestKey }) => (requestKey && ever) ?? []);
    const changing = ({ now, nowFollowsRow }: Filter): Question | undefined =>
      nowFollowsRow === true ? undefined : now;
    // A node that is allowed now need not be checked for ever.
    this.allowsReady = together(all.flatMap((each) => changing(each) ?? each.ever ?? []));
    this.allowsInPool = together(
      all.flatMap(
        (each) => changing(each) ?? (each.requestKey === undefined ? (each.ever ?? []) : []),
      ),
    );
    this.#requestKeys = all.flatMap(({ requestKey }) => requestKey ?? []);
    this.#places = all.flatMap(({ place }) => place ?? []).sort((a, b) => a.width - b.width);
    this.leastFree = mostOf(all.flatMap(({ leastFree }) => leastFree ?? []));
  }

  /** Whether the node could take the task if it were ready and empty. */
  everAllows(request: Request, node: FilterNode): boolean {
    return areAllowed(this.#ever, request, node);
  }

  /** Whether the node is ready for tasks. */
  isReady(node: FilterNode): boolean {
    return this.#ofRow(ANY, node);
  }

  /** Whether the node can take the task now. */
  allows(request: Request, node: FilterNode): boolean {
    return this.isReady(node) && this.allowsReady(request, node);
  }

  /** The first refusal; permanent refusals go before those that can change. */
  judge(request: Request, node: FilterNode, isBrief = false): Verdict {
    for (const ever of this.#ever) {
      if (ever.allows(request, node)) continue;
      const brief = isBrief ? ever.briefReason?.() : undefined;
      return { kind: "never", reason: brief ?? ever.reason(request, node) };
    }
    for (const now of this.#now) {
      if (!now.allows(request, node)) return { kind: "not-now", reason: now.reason(request, node) };
    }
    return YES;
  }

  /** The reason why not, if it is the only one and can change. */
  onlyReason(request: Request, node: FilterNode): Reason | undefined {
    if (!this.everAllows(request, node)) return undefined;
    const [refusing, ...others] = this.#now.filter((now) => !now.allows(request, node));
    return others.length > 0 ? undefined : refusing?.reason(request, node);
  }

  /** Nodes with equal keys give equal answers to the request, and to every smaller request of the same kind. */
  nodeKey(request: Request): (node: FilterNode) => string {
    const keys = this.filters.map(
      ({ nodeKey }) => nodeKey?.(request) ?? (({ node }: FilterNode) => node.id),
    );
    return (node) => {
      let all = "";
      for (const keyOf of keys) {
        const key = keyOf(node);
        all += `${key.length}:${key}`;
      }
      return all;
    };
  }

  /** Requests with equal keys search their nodes in the same pool. */
  poolKey(request: Request): string {
    return JSON.stringify(this.#requestKeys.map((keyOf) => keyOf(request)));
  }

  /** Whether the node belongs to the pool of such requests; `allowsInPool` still applies to its nodes. */
  belongsToPool(request: Request, node: FilterNode): boolean {
    return areAllowed(this.#ofPool, request, node);
  }

  /** The narrowest place under which the nodes of the request are filed. */
  placeOf(request: Request): string {
    for (const { ofRequest } of this.#places) {
      const place = ofRequest(request);
      if (place !== undefined) return place;
    }
    return ANYWHERE;
  }

  /** Every place that a request could name to get this node. */
  placesOf(node: Node): readonly string[] {
    return [ANYWHERE, ...this.#places.flatMap(({ ofNode }) => ofNode(node))];
  }
}

/** The maximum of each resource over all filters. */
function mostOf(
  all: readonly NonNullable<Filter["leastFree"]>[],
): NonNullable<Filter["leastFree"]> {
  const [only = () => NO_RESOURCES, ...others] = all;
  if (others.length === 0) return only;
  return (request) => {
    const most: Record<string, number> = {};
    for (const each of all) {
      for (const [name, amount] of Object.entries(each(request))) {
        most[name] = Math.max(most[name] ?? 0, amount);
      }
    }
    return most;
  };
}

const always: Allows = () => true;

/**
 * Called for every node of a search, and by `verify` for every placement. It has no loop, so that the
 * engine sees which filter is called where, and can inline it.
 */
function together(questions: readonly Question[]): Allows {
  const [a = always, b, ...others] = questions.map(({ allows }) => allows);
  if (b === undefined) return a;
  const [c = always, d = always, e = always, f = always] = others;
  const [g = always, h = always, i = always, j = always, k = always] = others.slice(4);
  const rest = questions.slice(11);
  const first: Allows = (request, node) =>
    a(request, node) &&
    b(request, node) &&
    c(request, node) &&
    d(request, node) &&
    e(request, node) &&
    f(request, node) &&
    g(request, node) &&
    h(request, node) &&
    i(request, node) &&
    j(request, node) &&
    k(request, node);
  if (rest.length === 0) return first;
  return (request, node) => first(request, node) && areAllowed(rest, request, node);
}

function areAllowed(questions: readonly Question[], request: Request, node: FilterNode): boolean {
  for (const question of questions) if (!question.allows(request, node)) return false;
  return true;
}

/** The chain of the server. */
export const FILTERS = new FilterChain();
