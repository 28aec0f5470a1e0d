import { type Capacity, TooComplex } from "./capacity.ts";
import { isAtLeast, timesIn } from "../request/amount.ts";
import type { Alternative, CompiledRequest, Need } from "./compile-request.ts";
import { NO_PARENT } from "../graph.ts";
import type { Layout } from "../layout.ts";
import { Attempt, type Budgets, newBudgets } from "./match.ts";
import { describeRequirement } from "../request/requirement.ts";
import type { Use } from "./use.ts";

/**
 * Why a request cannot be met, at the deepest place where it fails.
 *
 * - none: there is no vertex of this type.
 * - too-few: there are too few of the type.
 * - too-small: no `holder` has as much of the type as is asked inside one; `found` is the most.
 * - too-few-large: some have, but not as many as are asked.
 * - unmet: too few meet a requirement.
 * - busy: there would be enough if it were free.
 * - not-together: each part fits alone.
 * - too-complex: it was given up.
 */
export interface Refusal {
  readonly kind:
    | "none"
    | "too-few"
    | "too-small"
    | "too-few-large"
    | "unmet"
    | "busy"
    | "not-together"
    | "too-complex";
  readonly type: string;
  readonly asked: number;
  readonly found: number;
  readonly holder: string | undefined;
  readonly text: string;
}

/** Those with different texts: alternatives often fail for the same reason. */
export const distinctRefusals = (all: readonly Refusal[]): readonly Refusal[] => [
  ...new Map(all.map((refusal) => [refusal.text, refusal])).values(),
];

/** One refusal for each alternative of a request that does not fit. */
export function explainRefusal(
  layout: Layout,
  request: CompiledRequest,
  use?: Use,
  budgets = { ever: newBudgets(), now: newBudgets() },
): readonly Refusal[] {
  return request.alternatives.flatMap((alternative) => {
    try {
      return explainAlternative(layout, alternative, use, budgets);
    } catch (error) {
      if (error instanceof TooComplex) return [TOO_COMPLEX];
      throw error;
    }
  });
}

const TOO_COMPLEX: Refusal = {
  kind: "too-complex",
  type: "",
  asked: 1,
  found: 0,
  holder: undefined,
  text: "the request asks for too many things of a graph that is too irregular",
};

function explainAlternative(
  layout: Layout,
  alternative: Alternative,
  use: Use | undefined,
  budgets: { readonly ever: Budgets; readonly now: Budgets },
): readonly Refusal[] {
  const ever = new Attempt(layout, alternative, undefined, budgets.ever);
  const never = ever.tooLarge();
  if (never !== undefined) {
    return [new Explainer(layout, ever.capacity, false).explain(NO_PARENT, never, never.count)];
  }
  const now = use === undefined ? ever : new Attempt(layout, alternative, use, budgets.now);
  const busy = now.tooLarge();
  if (busy !== undefined) {
    return [new Explainer(layout, now.capacity, true).explain(NO_PARENT, busy, busy.count)];
  }
  if (now.fits()) return [];
  if (now.isTooComplex) return [TOO_COMPLEX];
  const types = alternative.trees.flatMap((tree) => tree.types);
  return [notTogether(types, use !== undefined && ever.fits())];
}

function notTogether(types: readonly string[], isBusy: boolean): Refusal {
  const names = [...new Set(types)].join(", ");
  return {
    kind: isBusy ? "busy" : "not-together",
    type: types[0] ?? "",
    asked: 1,
    found: 0,
    holder: undefined,
    text: `each part fits alone, but no way was found to fit all together (${names})`,
  };
}

class Explainer {
  readonly #layout: Layout;
  readonly #capacity: Capacity;
  readonly #isBusy: boolean;

  constructor(layout: Layout, capacity: Capacity, isBusy: boolean) {
    this.#layout = layout;
    this.#capacity = capacity;
    this.#isBusy = isBusy;
  }

  /** Why there are not `wanted` of a need inside a vertex (-1: the graph). */
  explain(host: number, need: Need, wanted: number): Refusal {
    const holder = host === NO_PARENT ? undefined : this.#typeOf(host);
    if (need.type === undefined) {
      const isSpread = this.#capacity.isSpread(this.#placeOf(host), need);
      const places = isSpread
        ? this.#verticesOf(host, "node").filter((vertex) => this.#isOpen(vertex, need))
        : [host];
      return this.#explainInside(places, isSpread ? "node" : (holder ?? "cluster"), need, wanted);
    }
    const { type } = need;
    const vertices = this.#verticesOf(host, type);
    const where = holder === undefined ? "" : ` in a ${holder}`;
    const base = { type, asked: wanted, holder };
    if (vertices.length === 0) {
      return { ...base, kind: "none", found: 0, text: `there is no ${type}${where}` };
    }
    const pieces = this.#piecesOf(vertices, need);
    const meeting = vertices.filter((each) => this.#capacity.meetsAll(this.#placeOf(each), need));
    const met = this.#piecesOf(meeting, need);
    if (isAtLeast(pieces, wanted) && !isAtLeast(met, wanted)) {
      return { ...base, kind: "unmet", found: met, text: this.#unmet(vertices, need, wanted, met) };
    }
    if (!isAtLeast(met, wanted)) {
      const text = `${amount(pieces, need)}${where}, ${number(wanted)} asked`;
      return { ...base, kind: "too-few", found: pieces, text };
    }
    if (need.inside.length > 0) {
      const open = this.#isBusy ? meeting.filter((each) => this.#isOpen(each, need)) : meeting;
      if (open.length < meeting.length && !isAtLeast(this.#piecesOf(open, need), wanted)) {
        return this.#busy(base, this.#piecesOf(open, need), need);
      }
      return this.#explainInside(open, type, need, wanted);
    }
    return this.#busy(base, this.#capacity.inside(this.#placeOf(host), need), need);
  }

  #busy(base: Pick<Refusal, "type" | "asked" | "holder">, found: number, need: Need): Refusal {
    const text = `${number(found)} of ${amount(base.asked, need)} asked are free`;
    return { ...base, kind: "busy", found, text };
  }

  /** Why what a need holds does not fit into as many of these vertices as are wanted. */
  #explainInside(hosts: readonly number[], holder: string, need: Need, wanted: number): Refusal {
    const copiesOf = (host: number, inner: Need): number => {
      const copies = timesIn(this.#capacity.inside(this.#placeOf(host), inner), inner.count);
      return need.type === undefined ? copies : Math.min(copies, this.#pieces(host, need));
    };
    let scarcest: { inner: Need; found: number } | undefined;
    for (const inner of need.inside) {
      const found = hosts.reduce((sum, host) => sum + copiesOf(host, inner), 0);
      if (scarcest === undefined || found < scarcest.found) scarcest = { inner, found };
    }
    const kindOf = (kind: Refusal["kind"]): Refusal["kind"] => (this.#isBusy ? "busy" : kind);
    if (scarcest === undefined || isAtLeast(scarcest.found, wanted)) {
      const parts = need.inside.map((inner) => amount(inner.count, inner)).join(" and ");
      const text = `too few ${plural(holder, 2)} have ${parts} together, ${number(wanted)} asked`;
      const base = { type: holder, asked: wanted, found: 0, holder: undefined };
      return { ...base, kind: kindOf("not-together"), text };
    }
    const { inner, found } = scarcest;
    const type = inner.type ?? "slot";
    if (found > 0) {
      const text = `${number(found)} of ${number(wanted)} ${plural(holder, wanted)} asked ${
        found === 1 ? "has" : "have"
      } ${amount(inner.count, inner)}${this.#isBusy ? " free" : ""}`;
      return { kind: kindOf("too-few-large"), type, asked: wanted, found, holder, text };
    }
    const amounts = hosts.map((host) => this.#capacity.inside(this.#placeOf(host), inner));
    const most = amounts.reduce((a, b) => Math.max(a, b), 0);
    const isSame = amounts.every((each) => each === most);
    const best = hosts[amounts.indexOf(most)];
    const isPlain = inner.inside.length === 0 && inner.requires.length === 0;
    if (best !== undefined && (!isPlain || most === 0) && !this.#isBusy) {
      return this.explain(best, inner, inner.count);
    }
    const text = this.#tooSmall(hosts.length, holder, isSame, most, inner);
    return { kind: kindOf("too-small"), type, asked: inner.count, found: most, holder, text };
  }

  #tooSmall(hosts: number, holder: string, isSame: boolean, most: number, inner: Need): string {
    const free = this.#isBusy ? " free" : "";
    const asked = `${number(inner.count)} asked`;
    if (hosts === 1) return `the ${holder} has ${amount(most, inner)}${free}, ${asked}`;
    if (isSame) {
      return `${hosts} ${plural(holder, hosts)} have ${amount(most, inner)}${free}, ${asked}`;
    }
    const largest = `the largest of ${hosts} ${plural(holder, hosts)}`;
    return `${largest} has ${amount(most, inner)}${free}, ${asked}`;
  }

  /** Names the first requirement that alone rules out too many, or all of them. */
  #unmet(vertices: readonly number[], need: Need, wanted: number, met: number): string {
    const alone = need.requires.find((each) => {
      const meeting = vertices.filter((vertex) =>
        this.#capacity.meets(this.#placeOf(vertex), each),
      );
      return !isAtLeast(this.#piecesOf(meeting, need), wanted);
    });
    const all = need.requires.map(({ requirement }) => describeRequirement(requirement));
    const what = alone === undefined ? all.join(" and ") : describeRequirement(alone.requirement);
    return met === 0
      ? `no ${need.type} with ${what}`
      : `${number(met)} of ${amount(wanted, need)} asked with ${what}`;
  }

  #verticesOf(host: number, type: string): readonly number[] {
    const { graph } = this.#layout;
    const end = host === NO_PARENT ? graph.ids.length : (graph.endOf[host] ?? 0);
    const found: number[] = [];
    for (let vertex = host + 1; vertex < end; vertex++) {
      if (this.#typeOf(vertex) === type) found.push(vertex);
    }
    return found;
  }

  #pieces(vertex: number, need: Need): number {
    const place = this.#placeOf(vertex);
    const { size } = this.#capacity.shapeAt(place);
    if (need.inside.length > 0) return Math.floor(size);
    const per = this.#capacity.perCount(place, need);
    return per === 0 ? 0 : size / per;
  }

  #piecesOf(vertices: readonly number[], need: Need): number {
    return vertices.reduce((sum, vertex) => sum + this.#pieces(vertex, need), 0);
  }

  #isOpen(vertex: number, need: Need): boolean {
    const { parentOf } = this.#layout.graph;
    for (let at = vertex; at !== NO_PARENT; at = parentOf[at] ?? NO_PARENT) {
      if (this.#capacity.isClosed(this.#placeOf(at))) return false;
    }
    const isFree = this.#capacity.inside(this.#placeOf(vertex), need.inside[0] ?? need) > 0;
    return isFree && (!need.isExclusive || this.#own(vertex, need) > 0);
  }

  #own = (vertex: number, need: Need): number => this.#capacity.own(this.#placeOf(vertex), need);
  #placeOf = (vertex: number): number => this.#capacity.placeOf(vertex);
  #typeOf = (vertex: number): string => {
    const { kinds, kindOf } = this.#layout.graph;
    return kinds[kindOf[vertex] ?? -1]?.type ?? "";
  };
}

const number = (value: number): string => String(Math.round(value * 1_000) / 1_000);
const plural = (type: string, count: number): string =>
  count === 1 || type.endsWith("s") ? type : `${type}s`;

/** "4 cores", "1 node", "16 GiB memory", "200 memory". */
function amount(value: number, { type = "slot", unit }: Need): string {
  if (unit !== undefined) return `${number(value)} ${unit} ${type}`;
  return `${number(value)} ${type === "memory" ? type : plural(type, value)}`;
}
