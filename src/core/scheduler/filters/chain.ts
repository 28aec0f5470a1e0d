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
import type { Reason } from "./reason.ts";
import { resourcesFit } from "./resources-fit.ts";
import { startsContainers } from "./starts-containers.ts";
import { takesShares } from "./takes-shares.ts";

/** In the order in which their reasons are worth telling. */
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
  resourcesFit,
  nodeReady,
];

const YES: Verdict = { kind: "yes" };
/** Asked where the answer is the same for all requests. */
const ANY: Request = { needs: NO_RESOURCES, request: undefined, select: undefined, where: {} };
/** Every node has this place. */
const ANYWHERE = "any";

type Allows = Question["allows"];

/**
 * All filters as one. Admission, planner, judge, dry runs and explanations ask this and nothing
 * else whether a node takes a task, so that they cannot disagree.
 */
export class FilterChain {
  readonly filters: readonly Filter[];
  readonly #ever: readonly Question[];
  readonly #now: readonly Question[];
  /** Asked when a node's row changes. */
  readonly #ofRow: Allows;
  /** Asked when a node comes to a pool. */
  readonly #ofPool: readonly Question[];
  /** The questions that are left for nodes that take tasks and belong to the pool of the request. */
  readonly allowsInPool: Allows;
  /** The questions that are left for nodes that take tasks. */
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
    // What is allowed now need not be asked whether it ever is.
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

  /** Whether the node could take the task if nothing ran there and it took tasks. */
  everAllows(request: Request, node: FilterNode): boolean {
    return areAllowed(this.#ever, request, node);
  }

  /** Whether the node takes any tasks now. */
  takesTasks(node: FilterNode): boolean {
    return this.#ofRow(ANY, node);
  }

  /** Whether the node can take the task now. */
  allows(request: Request, node: FilterNode): boolean {
    return this.takesTasks(node) && this.allowsReady(request, node);
  }

  /** The first refusal; one that can never change is worth more than one that can. */
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

  /** Says the same of nodes that answer the request, and those that ask for less of the same, alike. */
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

  /** Requests with the same text look for their nodes in the same pool. */
  poolKey(request: Request): string {
    return JSON.stringify(this.#requestKeys.map((keyOf) => keyOf(request)));
  }

  /** Whether the node belongs to the pool of such requests; nodes of it are still asked `allowsInPool`. */
  belongsToPool(request: Request, node: FilterNode): boolean {
    return areAllowed(this.#ofPool, request, node);
  }

  /** The narrowest place where the nodes of the request are filed. */
  placeOf(request: Request): string {
    for (const { ofRequest } of this.#places) {
      const place = ofRequest(request);
      if (place !== undefined) return place;
    }
    return ANYWHERE;
  }

  /** Everything that could be asked of the node as a place. */
  placesOf(node: Node): readonly string[] {
    return [ANYWHERE, ...this.#places.flatMap(({ ofNode }) => ofNode(node))];
  }
}

/** Of each resource the most that one of them says. */
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
 * Asked for every node that is looked at, and by the judge for every placement: without a loop, so
 * that the engine sees which filter is called where, and can inline it.
 */
function together(questions: readonly Question[]): Allows {
  const [a = always, b, ...others] = questions.map(({ allows }) => allows);
  if (b === undefined) return a;
  const [c = always, d = always, e = always, f = always] = others;
  const [g = always, h = always, i = always, j = always] = others.slice(4);
  const rest = questions.slice(10);
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
    j(request, node);
  if (rest.length === 0) return first;
  return (request, node) => first(request, node) && areAllowed(rest, request, node);
}

function areAllowed(questions: readonly Question[], request: Request, node: FilterNode): boolean {
  for (const question of questions) if (!question.allows(request, node)) return false;
  return true;
}

/** The chain of the server. */
export const FILTERS = new FilterChain();
