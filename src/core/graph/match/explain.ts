import { type Capacity, TooComplex } from "./capacity.ts";
import { isAtLeast, timesIn } from "../request/amount.ts";
import type { Alternative, CompiledRequest, Need } from "./compile-request.ts";
import { NO_PARENT } from "../graph.ts";
import type { Layout } from "../layout.ts";
import { Attempt, type Budgets, newBudgets } from "./match.ts";
import type { Requirement } from "../request/request.ts";
import type { RequestedAmount, Refusal } from "./refusal.ts";
import type { Use } from "./use.ts";

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
  detail: { kind: "too-complex" },
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
  return {
    kind: isBusy ? "busy" : "not-together",
    type: types[0] ?? "",
    asked: 1,
    found: 0,
    holder: undefined,
    detail: { kind: "parts-fit-alone", types: [...new Set(types)] },
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

  /** Why there are fewer than `wanted` of a need inside a vertex (-1: the graph). */
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
    const { unit } = need;
    const base = { type, asked: wanted, holder };
    if (vertices.length === 0)
      return { ...base, kind: "none", found: 0, detail: { kind: "absent" } };
    const pieces = this.#piecesOf(vertices, need);
    const meeting = vertices.filter((each) => this.#capacity.meetsAll(this.#placeOf(each), need));
    const met = this.#piecesOf(meeting, need);
    if (isAtLeast(pieces, wanted) && !isAtLeast(met, wanted)) {
      const requires = this.#unmet(vertices, need, wanted);
      return { ...base, kind: "unmet", found: met, detail: { kind: "unmet", unit, requires } };
    }
    if (!isAtLeast(met, wanted)) {
      return { ...base, kind: "too-few", found: pieces, detail: { kind: "few", unit } };
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
    return { ...base, kind: "busy", found, detail: { kind: "few-free", unit: need.unit } };
  }

  /** Why the children of a need fit into fewer of these vertices than `wanted`. */
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
      const base = { type: holder, asked: wanted, found: 0, holder: undefined };
      const parts = need.inside.map(amountOf);
      return { ...base, kind: kindOf("not-together"), detail: { kind: "few-have-all", parts } };
    }
    const { inner, found } = scarcest;
    const type = inner.type ?? "slot";
    const isFree = this.#isBusy;
    if (found > 0) {
      const detail = { kind: "few-have", each: amountOf(inner), isFree } as const;
      return { kind: kindOf("too-few-large"), type, asked: wanted, found, holder, detail };
    }
    const amounts = hosts.map((host) => this.#capacity.inside(this.#placeOf(host), inner));
    const most = amounts.reduce((a, b) => Math.max(a, b), 0);
    const isSame = amounts.every((each) => each === most);
    const best = hosts[amounts.indexOf(most)];
    const isPlain = inner.inside.length === 0 && inner.requires.length === 0;
    if (best !== undefined && (!isPlain || most === 0) && !this.#isBusy) {
      return this.explain(best, inner, inner.count);
    }
    const { unit } = inner;
    const detail = { kind: "largest", hosts: hosts.length, isSame, unit, isFree } as const;
    return { kind: kindOf("too-small"), type, asked: inner.count, found: most, holder, detail };
  }

  /** The first requirement that alone excludes too many vertices; otherwise all requirements. */
  #unmet(vertices: readonly number[], need: Need, wanted: number): readonly Requirement[] {
    const alone = need.requires.find((each) => {
      const meeting = vertices.filter((vertex) =>
        this.#capacity.meets(this.#placeOf(vertex), each),
      );
      return !isAtLeast(this.#piecesOf(meeting, need), wanted);
    });
    return (alone === undefined ? need.requires : [alone]).map(({ requirement }) => requirement);
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

const amountOf = ({ count, type = "slot", unit }: Need): RequestedAmount => ({ count, type, unit });
