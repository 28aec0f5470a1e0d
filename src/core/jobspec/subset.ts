import { AppError } from "../../lib/errors.ts";
import { parseSizeBytes } from "../../lib/units.ts";
import type { ResourceChoice, ResourceRequest } from "../graph/request/request.ts";

/** The amounts in a set of trees. */
interface Summary {
  /** The total of each type. */
  readonly totals: Map<string, number>;
  /** By type and enclosing type: the most within one of the enclosing type. */
  readonly within: Map<string, Map<string, number>>;
  /** Types that are requested whole, without `with`: they may contain anything. */
  readonly whole: Set<string>;
}

/**
 * Why the request of an item inside a group is not part of the group's resources, or undefined. It
 * must fit every alternative of the group: of each type no more than the total, and within one
 * vertex no more than one vertex of the group has. A vertex that the group requests without `with`
 * may contain anything.
 */
export function whyNotWithin(child: ResourceChoice, group: ResourceChoice): string | undefined {
  const alternatives = child.map(summarise);
  for (const trees of group) {
    const held = summarise(trees);
    const reasons = alternatives.map((wanted) => whyNot(wanted, held));
    if (!reasons.includes(undefined)) return reasons[0];
  }
  return undefined;
}

function whyNot(wanted: Summary, held: Summary): string | undefined {
  const isInside = (type: string): boolean =>
    [...(wanted.within.get(type)?.keys() ?? [])].some((around) => held.whole.has(around));
  for (const [type, amount] of wanted.totals) {
    const there = held.totals.get(type);
    if (there === undefined && !isInside(type)) return `${nameOf(type)}: the group has none`;
    if (there !== undefined && amount > there && !isInside(type)) {
      return `${amount} ${nameOf(type)}: the group has ${there}`;
    }
    for (const [around, each] of wanted.within.get(type) ?? []) {
      if (!held.totals.has(around) || held.whole.has(around)) continue;
      const most = held.within.get(type)?.get(around) ?? 0;
      if (each > most) {
        return `${each} ${nameOf(type)} in one ${around}: the group has ${most || "none"} there`;
      }
    }
  }
  return undefined;
}

/** Amounts in an unknown unit can be compared only within that unit. */
const nameOf = (type: string): string => type.replace(/\0.*/, "");

function summarise(trees: readonly ResourceRequest[]): Summary {
  const summary: Summary = { totals: new Map(), within: new Map(), whole: new Set() };
  for (const tree of trees) addTimes(summary.totals, look(summary, tree), 1);
  return summary;
}

/**
 * The amounts of all copies of this vertex with their descendants; records in the summary what one
 * copy holds.
 */
function look(summary: Summary, tree: ResourceRequest): ReadonlyMap<string, number> {
  const { amount, type } = measure(tree);
  const inside = new Map<string, number>();
  for (const part of tree.with) addTimes(inside, look(summary, part), 1);
  const all = new Map<string, number>();
  addTimes(all, inside, amount);
  if (tree.type === "slot") return all;
  if (tree.with.length === 0) summary.whole.add(type);
  for (const [inner, each] of inside) {
    const most = summary.within.get(inner) ?? new Map<string, number>();
    most.set(type, Math.max(most.get(type) ?? 0, each));
    summary.within.set(inner, most);
  }
  return all.set(type, (all.get(type) ?? 0) + amount);
}

function addTimes(
  to: Map<string, number>,
  amounts: ReadonlyMap<string, number>,
  times: number,
): void {
  for (const [type, amount] of amounts) to.set(type, (to.get(type) ?? 0) + amount * times);
}

/** Sizes in bytes for known units; an unknown unit makes a type of its own. */
function measure({ type, count, unit }: ResourceRequest): { type: string; amount: number } {
  if (unit === undefined) return { type, amount: count };
  const bytes = bytesOf(unit);
  return bytes === undefined
    ? { type: `${type}\0${unit}`, amount: count }
    : { type: `${type}\0B`, amount: count * bytes };
}

/** "GB" → 1,000,000,000; undefined when it is not a unit of size. */
export function bytesOf(unit: string): number | undefined {
  try {
    return parseSizeBytes(`1${unit}`, "unit");
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}
