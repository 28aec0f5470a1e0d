import { Heap } from "../../../lib/collections/heap.ts";
import type { EnergyTerms } from "../../model/job/energy.ts";
import { type PowerEdge, energyUntil, firstMs, HORIZON_MS } from "./edge-energy.ts";

/** The share of one edge. */
export interface SplitShare<E> {
  readonly edge: E;
  readonly wattSeconds: number;
}

/** An edge, and the most that it can take. */
interface Taker<E> {
  readonly edge: E;
  readonly most: number;
}

/** The energy to split, and the limits of its shares. */
interface Ask extends Pick<EnergyTerms, "split"> {
  readonly energy: number;
  /** The least share, or all of the energy where that is less. */
  readonly least: number;
  /** The maximum number of shares. */
  readonly sharesMax: number;
}

/**
 * Splits energy over free edges: docs/design/power.md. Every share is at least the least share (or all of the energy, or the most that any
 * edge may take) and at most the greatest share of the job and of its edge; no edge gets two shares, and no edge without power gets one.
 * The shares add up to the energy, or to less where the edges may not take all of it at once: then the remainder is enough for another
 * share, unless no split of these edges would leave that much.
 */
export function splitEnergy<E extends PowerEdge>(
  energy: number,
  terms: Omit<EnergyTerms, "wattSeconds">,
  edges: Iterable<E>,
  { nowMs, sharesMax }: { readonly nowMs: number; readonly sharesMax: number },
): SplitShare<E>[] {
  if (energy <= 0 || sharesMax < 1) return [];
  const live: Taker<E>[] = [];
  let largest = 0;
  for (const edge of edges) {
    if (edge.watts <= 0) continue;
    const most = Math.min(energy, terms.greatestShare, edge.greatestShare ?? energy);
    largest = Math.max(largest, most);
    live.push({ edge, most });
  }
  // The limits of edges override the terms of the job: it must not wait for ever.
  const least = Math.min(terms.leastShare, energy, largest);
  const takers = live.filter(({ most }) => most >= least);
  if (takers.length === 0) return [];
  const count = Math.min(sharesMax, Math.max(1, Math.floor(energy / least)));
  const ask: Ask = { energy, least, split: terms.split, sharesMax: count };
  const shares = splitOver(ask, fastest(takers, count), nowMs);
  return withoutSmallRemainder(ask, shares);
}

/** Of edges with constant power and equal ticks, only the strongest can be among those that end first. */
function fastest<E extends PowerEdge>(takers: Taker<E>[], count: number): Taker<E>[] {
  if (takers.length <= count) return takers;
  const most = takers.reduce((largest, taker) => Math.max(largest, taker.most), 0);
  const isPlain = ({ edge, most: own }: Taker<E>): boolean =>
    own === most && (edge.changes?.length ?? 0) === 0 && edge.freeAtMs === undefined;
  const strongest = new Map<number, Largest<Taker<E>>>();
  const chosen: Taker<E>[] = [];
  for (const taker of takers) {
    if (!isPlain(taker)) {
      chosen.push(taker);
      continue;
    }
    const { watts, tickMs = 0 } = taker.edge;
    let alike = strongest.get(tickMs);
    if (alike === undefined) strongest.set(tickMs, (alike = new Largest(count)));
    alike.offer(taker, watts);
  }
  for (const alike of strongest.values()) {
    for (const { item } of alike.falling()) chosen.push(item);
  }
  return chosen;
}

function splitOver<E extends PowerEdge>(
  ask: Ask,
  takers: Taker<E>[],
  nowMs: number,
): SplitShare<E>[] {
  const byMost = takers.toSorted((a, b) => b.most - a.most);
  const needed = countFor(ask, byMost);
  if (ask.split === "spread") return spread(ask, takers, nowMs);
  if (needed === undefined) return aRound(ask, takers, nowMs);
  const sharesMax = ask.split === "fewest" ? needed : ask.sharesMax;
  return earliest({ ...ask, sharesMax }, takers, nowMs) ?? aRound(ask, takers, nowMs);
}

/**
 * The smallest number of edges that can take all energy; undefined: they may not take all of it at
 * once.
 */
function countFor<E>({ energy, sharesMax }: Ask, byMost: readonly Taker<E>[]): number | undefined {
  let sum = 0;
  for (let count = 1; count <= Math.min(sharesMax, byMost.length); count++) {
    sum += byMost[count - 1]?.most ?? 0;
    if (sum >= energy) return count;
  }
  return undefined;
}

/**
 * A split of all energy whose last share ends first; undefined: it does not end within the horizon.
 */
function earliest<E extends PowerEdge>(
  { energy, least, sharesMax }: Ask,
  takers: readonly Taker<E>[],
  nowMs: number,
): SplitShare<E>[] | undefined {
  const best = new Largest<Taker<E>>(sharesMax);
  const fillUntil = (ms: number): number => {
    best.clear();
    for (const taker of takers) {
      const can = Math.min(taker.most, energyUntil(taker.edge, nowMs, ms));
      if (can >= least) best.offer(taker, can);
    }
    return best.sum;
  };
  const endMs = firstMs(nowMs, (ms) => fillUntil(ms) >= energy);
  if (endMs === undefined) return undefined;
  fillUntil(endMs);
  return fill(energy, least, best.falling());
}

/** Fills the largest edges first, as few as can do it; each gets what it can take, as long as the others get the least share. */
function fill<E>(energy: number, least: number, all: readonly Amount<Taker<E>>[]): SplitShare<E>[] {
  let count = 0;
  for (let left = energy; left > 0 && count < all.length; count++) left -= all[count]?.amount ?? 0;
  let left = energy;
  return all.slice(0, count).map(({ item, amount }, at) => {
    const wattSeconds = Math.min(amount, left - least * (count - 1 - at));
    left -= wattSeconds;
    return { edge: item.edge, wattSeconds };
  });
}

/**
 * For more energy than the edges may take at once: each gets what it could use until all of them together had used all of it, up to its
 * greatest share. The remaining shares are made when edges are free again.
 */
function aRound<E extends PowerEdge>(
  ask: Ask,
  takers: readonly Taker<E>[],
  nowMs: number,
): SplitShare<E>[] {
  const { energy, least, sharesMax } = ask;
  const sumUntil = (ms: number): number => {
    let sum = 0;
    for (const { edge } of takers) {
      sum += energyUntil(edge, nowMs, ms);
      if (sum >= energy) return sum;
    }
    return sum;
  };
  const endMs = firstMs(nowMs, (ms) => sumUntil(ms) >= energy) ?? nowMs + HORIZON_MS;
  const best = new Largest<Taker<E>>(sharesMax);
  let first: SplitShare<E> | undefined;
  for (const taker of takers) {
    const can = Math.min(taker.most, energyUntil(taker.edge, nowMs, endMs));
    if (can >= least) best.offer(taker, can);
    else if (first === undefined || taker.edge.watts > first.edge.watts) {
      first = { edge: taker.edge, wattSeconds: Math.max(least, can) };
    }
  }
  const shares: SplitShare<E>[] = [];
  let left = energy;
  for (const { item, amount } of best.falling()) {
    const wattSeconds = Math.min(amount, left);
    if (wattSeconds >= least) shares.push({ edge: item.edge, wattSeconds });
    left -= wattSeconds;
  }
  return shares.length === 0 && first !== undefined ? [first] : shares;
}

/** Equal shares on as many edges as possible; if there are more edges, on those that end first. */
function spread<E extends PowerEdge>(
  ask: Ask,
  takers: readonly Taker<E>[],
  nowMs: number,
): SplitShare<E>[] {
  const count = Math.min(ask.sharesMax, takers.length);
  const part = Math.ceil(ask.energy / count);
  const chosen = count < takers.length ? firstToDo(part, takers, count, nowMs) : takers;
  let left = ask.energy;
  return chosen
    .toSorted((a, b) => a.most - b.most)
    .map(({ edge, most }, at) => {
      const wattSeconds = Math.min(most, Math.floor(left / (count - at)));
      left -= wattSeconds;
      return { edge, wattSeconds };
    });
}

/** The edges that have used most energy when the last of them has done its part. */
function firstToDo<E extends PowerEdge>(
  part: number,
  takers: readonly Taker<E>[],
  count: number,
  nowMs: number,
): Taker<E>[] {
  const best = new Largest<Taker<E>>(count);
  const fillUntil = (ms: number): number => {
    best.clear();
    let done = 0;
    for (const taker of takers) {
      const can = energyUntil(taker.edge, nowMs, ms);
      if (can >= Math.min(part, taker.most)) done++;
      best.offer(taker, can);
    }
    return done;
  };
  fillUntil(firstMs(nowMs, (ms) => fillUntil(ms) >= count) ?? nowMs + HORIZON_MS);
  return best.falling().map(({ item }) => item);
}

/** The remainder must be enough for a share: shrinks other shares for it, where possible. */
function withoutSmallRemainder<E>(
  { energy, least }: Ask,
  shares: SplitShare<E>[],
): SplitShare<E>[] {
  const left = energy - shares.reduce((sum, { wattSeconds }) => sum + wattSeconds, 0);
  let missing = left > 0 && left < least ? least - left : 0;
  const spare = shares.reduce((sum, { wattSeconds }) => sum + wattSeconds - least, 0);
  if (missing === 0 || spare < missing) return shares;
  return shares.map(({ edge, wattSeconds }) => {
    const less = Math.min(missing, wattSeconds - least);
    missing -= less;
    return { edge, wattSeconds: wattSeconds - less };
  });
}

interface Amount<T> {
  readonly item: T;
  readonly amount: number;
  /** Of equal ones, the one that was offered first comes first. */
  readonly order: number;
}

/** The largest of the offered values, up to a number of them, and their sum. */
class Largest<T> {
  readonly #max: number;
  #items = newHeap<T>();
  #offered = 0;
  sum = 0;

  constructor(max: number) {
    this.#max = max;
  }

  clear(): void {
    this.#items = newHeap();
    this.sum = 0;
  }

  offer(item: T, amount: number): void {
    const smallest = this.#items.peek();
    const isFull = this.#items.size >= this.#max;
    if (isFull && amount <= (smallest?.amount ?? 0)) return;
    if (isFull) this.sum -= this.#items.pop()?.amount ?? 0;
    this.#items.push({ item, amount, order: this.#offered++ });
    this.sum += amount;
  }

  /** Largest first; empties it. */
  falling(): Amount<T>[] {
    const rising: Amount<T>[] = [];
    for (let next = this.#items.pop(); next !== undefined; next = this.#items.pop()) {
      rising.push(next);
    }
    return rising.toReversed();
  }
}

const newHeap = <T>(): Heap<Amount<T>> =>
  new Heap((a, b) => a.amount < b.amount || (a.amount === b.amount && a.order > b.order));
