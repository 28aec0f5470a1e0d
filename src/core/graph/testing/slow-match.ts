import type { Graph } from "../graph.ts";
import type { Requirement, ResourceRequest } from "../request/request.ts";
import type { Subsystem } from "../subsystems/subsystem.ts";

/**
 * A brute-force match: tries every piece on every vertex. Supports only "one-of" conditions and
 * whole numbers without units. Shares no code with the real matcher, so that the two can disagree.
 */
export interface World {
  readonly graph: Graph;
  readonly subsystems: ReadonlyMap<string, Subsystem>;
  readonly taken: ReadonlyMap<number, number>;
}

export class TooSlow extends Error {}

interface Picked {
  readonly vertex: number;
  readonly request: ResourceRequest;
  readonly role: "leaf" | "holder" | "machine";
  readonly isExclusive: boolean;
  readonly above: Picked | undefined;
}

interface Demand {
  readonly request: ResourceRequest;
  readonly remaining: number;
  readonly host: number;
  readonly from: number;
  readonly above: Picked | undefined;
  readonly requires: readonly Requirement[];
  readonly isExclusive: boolean;
}

const STEPS_MAX = 20_000;

export function slowFits(world: World, trees: readonly ResourceRequest[]): boolean {
  const { graph, subsystems, taken } = world;
  const kind = (vertex: number) => graph.kinds[graph.kindOf[vertex] ?? -1];
  const isIn = (vertex: number, host: number): boolean =>
    host === -1 || (vertex > host && vertex < (graph.endOf[host] ?? 0));
  const all = graph.ids.map((_, vertex) => vertex);
  const typesIn = (request: ResourceRequest): string[] => [
    ...(request.type === "slot" ? [] : [request.type]),
    ...request.with.flatMap(typesIn),
  ];
  const meets = (vertex: number, requires: readonly Requirement[]): boolean =>
    requires.every(({ subsystem: name, conditions }) => {
      const subsystem = subsystems.get(name);
      const linked = all
        .filter((at) => at === vertex || isIn(vertex, at))
        .flatMap((at) => subsystem?.links.get(at) ?? [])
        .map((own) => subsystem?.vertices[own]?.metadata);
      return linked.some((metadata) =>
        conditions.every(
          (condition) =>
            condition.kind === "one-of" &&
            condition.values.some((value) => value === metadata?.[condition.field]),
        ),
      );
    });
  const picked: Picked[] = [];
  let steps = 0;

  const isChildOf = (pick: Picked, holder: Picked): boolean => {
    for (let at = pick.above; at !== undefined; at = at.above) {
      if (at.vertex === holder.vertex && at.request === holder.request) return true;
    }
    return false;
  };
  const isAllowedInside = (inner: Picked, outer: Picked): boolean => {
    if (inner.request === outer.request) return false;
    if (outer.role === "leaf") return false;
    return !outer.isExclusive || isChildOf(inner, outer);
  };
  const isAllowedBeside = (one: Picked, other: Picked): boolean => {
    if (one.role === "machine" || other.role === "machine") return true;
    if (one.role !== other.role) return false;
    return one.request === other.request || (!one.isExclusive && !other.isExclusive);
  };
  const isAllowed = (pick: Picked): boolean => {
    const { vertex, role } = pick;
    const size = kind(vertex)?.size ?? 0;
    for (const other of picked) {
      if (other.vertex === vertex && !isAllowedBeside(pick, other)) return false;
      if (isIn(vertex, other.vertex) && !isAllowedInside(pick, other)) return false;
      if (isIn(other.vertex, vertex) && !isAllowedInside(other, pick)) return false;
    }
    for (const [at, amount] of taken) {
      if (amount === 0) continue;
      if (isIn(vertex, at)) return false;
      if (at === vertex && (role !== "leaf" || pick.isExclusive)) return false;
      if (isIn(at, vertex) && (role === "leaf" || pick.isExclusive)) return false;
    }
    if (role === "machine") return true;
    const same = picked.filter((other) => other.vertex === vertex && other.role === role).length;
    return same + 1 + (role === "leaf" ? (taken.get(vertex) ?? 0) : 0) <= size;
  };

  const demandsOf = (holder: Demand, host: number, above: Picked | undefined): Demand[] =>
    holder.request.with.map((request) => ({
      request,
      remaining: request.count,
      host,
      from: 0,
      above,
      requires:
        holder.request.type === "slot"
          ? [...holder.requires, ...request.requires]
          : request.requires,
      isExclusive: request.isExclusive || (holder.request.type === "slot" && holder.isExclusive),
    }));

  const solve = (demands: readonly Demand[]): boolean => {
    if (++steps > STEPS_MAX) throw new TooSlow();
    const [first, ...rest] = demands;
    if (first === undefined) return true;
    if (first.remaining === 0) return solve(rest);
    const { request, host, above, requires, isExclusive, from } = first;
    if (request.type === "slot") {
      const machines = all.filter((at) => kind(at)?.type === "node" && isIn(at, host));
      const isSpread =
        machines.some((at) => (kind(at)?.size ?? 0) > 0) &&
        typesIn(request).every((type) =>
          all.some(
            (at) =>
              kind(at)?.type === type &&
              (kind(at)?.size ?? 0) > 0 &&
              all.some((up) => kind(up)?.type === "node" && isIn(at, up)),
          ),
        );
      const places = isSpread ? machines : [host];
      return places.some((place) => {
        const next = [{ ...first, remaining: first.remaining - 1 }, ...rest];
        if (!isSpread) return solve([...demandsOf(first, place, above), ...next]);
        const role = "machine" as const;
        const pick: Picked = { vertex: place, request, role, isExclusive: false, above };
        if (!isAllowed(pick)) return false;
        picked.push(pick);
        if (solve([...demandsOf(first, place, pick), ...next])) return true;
        picked.pop();
        return false;
      });
    }
    return all.some((vertex) => {
      if (vertex < from || kind(vertex)?.type !== request.type || !isIn(vertex, host)) return false;
      if (!meets(vertex, requires)) return false;
      const role = request.with.length === 0 ? "leaf" : "holder";
      const pick: Picked = { vertex, request, role, isExclusive, above };
      if (!isAllowed(pick)) return false;
      picked.push(pick);
      const next = [{ ...first, remaining: first.remaining - 1, from: vertex }, ...rest];
      if (solve([...demandsOf(first, vertex, pick), ...next])) return true;
      picked.pop();
      return false;
    });
  };
  return solve(
    trees.map((request) => ({
      request,
      remaining: request.count,
      host: -1,
      from: 0,
      above: undefined,
      requires: request.requires,
      isExclusive: request.isExclusive,
    })),
  );
}

/** How many copies of one slot fit, alone. */
export function slowSlots(world: World, slot: ResourceRequest): number {
  let count = 0;
  while (slowFits(world, [{ ...slot, count: count + 1 }])) count += 1;
  return count;
}
