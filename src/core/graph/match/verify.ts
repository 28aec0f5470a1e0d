import type { Allocation, Pick } from "./allocation.ts";
import { conversion, EPSILON, isAtLeast } from "../request/amount.ts";
import type { Alternative, CompiledRequest, Need } from "./compile-request.ts";
import { type Graph, NO_PARENT } from "../graph.ts";
import type { Subsystem } from "../subsystems/subsystem.ts";
import type { Use } from "./use.ts";

export interface Subject {
  readonly graph: Graph;
  readonly subsystems: ReadonlyMap<string, Subsystem>;
  readonly use: Use | undefined;
}

/**
 * Checks an allocation against the graph alone, without code of the search. Returns the problem in
 * words, or undefined: then the allocation satisfies the request.
 */
export function verifyAllocation(
  subject: Subject,
  request: CompiledRequest,
  { alternative: number, picks }: Allocation,
): string | undefined {
  const alternative = request.alternatives[number];
  if (alternative === undefined) return `there is no alternative ${number}`;
  for (const [at, pick] of picks.entries()) {
    const problem = problemOfPick(subject, alternative, picks, pick);
    if (problem !== undefined) return `pick ${at}: ${problem}`;
  }
  return problemOfCounts(alternative, picks) ?? problemOfSharing(subject, alternative, picks);
}

function problemOfPick(
  subject: Subject,
  { needs }: Alternative,
  picks: readonly Pick[],
  { need: number, inside, vertex, counts, taken }: Pick,
): string | undefined {
  const { graph } = subject;
  const need = needs[number];
  if (need === undefined) return "it counts for nothing that is asked";
  const holder = picks[inside];
  if ((holder?.need ?? -1) !== need.above) return "it is inside the wrong need";
  const host = holder?.vertex ?? NO_PARENT;
  if (!(counts > 0)) return "it counts for nothing";
  if (need.type === undefined) {
    if (vertex !== host && !isInside(graph, vertex, host)) return "the slot is elsewhere";
    if (!Number.isInteger(counts)) return "a part of a slot is none";
    return spreadsOverMachines(graph, need, vertex) ? "the slot spreads over machines" : undefined;
  }
  if (!isInside(graph, vertex, host)) return "the vertex is elsewhere";
  const kind = graph.kinds[graph.kindOf[vertex] ?? -1];
  if (kind?.type !== need.type) return `a ${kind?.type ?? "nothing"} is no ${need.type}`;
  if (!need.requires.every(({ requirement, test }) => isMet(subject, vertex, requirement, test))) {
    return "a requirement is not met";
  }
  if (need.isExclusive && taken !== kind.size) return "it is not taken whole";
  if (need.inside.length > 0) {
    if (!need.isExclusive && taken !== 0) return "it is shared, but something is taken";
    return Number.isInteger(counts) && counts <= kind.size ? undefined : "it is not that many";
  }
  const per = need.unit === undefined ? 1 : conversion(need.unit, kind.unit);
  if (per === undefined) return `${need.unit} and ${kind.unit} cannot be compared`;
  return isAtLeast(taken, counts * per) ? undefined : "less is taken than counts";
}

/** Whether a slot lies outside a machine, though machines below it contain all its types. */
function spreadsOverMachines(graph: Graph, need: Need, host: number): boolean {
  const kindAt = (vertex: number) => graph.kinds[graph.kindOf[vertex] ?? -1];
  if (kindAt(host)?.type === "node") return false;
  const found = new Set<string>();
  let isAbove = false;
  for (let vertex = 0; vertex < graph.ids.length; vertex++) {
    if (kindAt(vertex)?.type !== "node") continue;
    const end = graph.endOf[vertex] ?? 0;
    for (let inner = vertex + 1; inner < end; inner++) {
      const { type = "", size = 0 } = kindAt(inner) ?? {};
      if (size > 0) found.add(type);
    }
    if ((kindAt(vertex)?.size ?? 0) > 0 && isInside(graph, vertex, host)) isAbove = true;
    vertex = end - 1;
  }
  return isAbove && need.types.every((type) => found.has(type));
}

function isMet(
  { graph, subsystems }: Subject,
  vertex: number,
  { subsystem: name }: Need["requires"][number]["requirement"],
  test: Need["requires"][number]["test"],
): boolean {
  const subsystem = subsystems.get(name);
  return [vertex, ...ancestorsOf(graph, vertex)].some((at) =>
    subsystem?.links.get(at)?.some((own) => {
      const linked = subsystem.vertices[own];
      return linked !== undefined && test(linked.scalars);
    }),
  );
}

/** Whether the counts suffice: in total, and in each vertex that holds something. */
function problemOfCounts(
  { needs, trees }: Alternative,
  picks: readonly Pick[],
): string | undefined {
  const found = new Map<string, number>();
  for (const { need, inside, counts } of picks) {
    const name = `${inside} ${need}`;
    found.set(name, (found.get(name) ?? 0) + counts);
  }
  const isShort = (holder: number, copies: number, { number, count }: Need): boolean =>
    !isAtLeast(found.get(`${holder} ${number}`) ?? 0, copies * count);
  if (trees.some((tree) => isShort(-1, 1, tree))) return "there is too little in all";
  for (const [at, { need, counts }] of picks.entries()) {
    if (needs[need]?.inside.some((inner) => isShort(at, counts, inner)) === true) {
      return `there is too little inside pick ${at}`;
    }
  }
  return undefined;
}

/** Whether no vertex counts twice, and none is allocated to others. */
function problemOfSharing(
  { graph, use }: Subject,
  { needs }: Alternative,
  picks: readonly Pick[],
): string | undefined {
  const taken = new Map<number, number>();
  const held = new Map<number, number>();
  const whole = new Map<number, number>(); // the pick that has a vertex and its descendants to itself
  for (const [at, pick] of picks.entries()) {
    const { type, inside = [] } = needs[pick.need] ?? {};
    if (type === undefined) continue;
    const isHolder = inside.length > 0;
    if (isHolder) held.set(pick.vertex, (held.get(pick.vertex) ?? 0) + pick.counts);
    if (pick.taken > 0) {
      if (isHolder && taken.has(pick.vertex)) return `pick ${at}: taken before`;
      taken.set(pick.vertex, (taken.get(pick.vertex) ?? 0) + pick.taken);
      whole.set(pick.vertex, isHolder ? at : -1);
    }
    if (isHolder && (use?.taken(pick.vertex) ?? 0) > 0) return `pick ${at}: others have it`;
    if (pick.taken > 0 && use?.isMarkedInside(pick.vertex) === true) {
      return `pick ${at}: others have something inside`;
    }
  }
  for (const [vertex, amount] of taken) {
    const { size = 0 } = graph.kinds[graph.kindOf[vertex] ?? -1] ?? {};
    const all = amount + (use?.taken(vertex) ?? 0);
    if (all > size * (1 + EPSILON)) return `${graph.ids[vertex]}: ${all} of ${size} are taken`;
    const owner = picks[whole.get(vertex) ?? -1];
    if (held.has(vertex) && owner?.counts !== held.get(vertex)) return "taken, and shared";
  }
  for (const [vertex, pieces] of held) {
    const { size = 0 } = graph.kinds[graph.kindOf[vertex] ?? -1] ?? {};
    if (pieces > size) return `${graph.ids[vertex]}: ${pieces} of ${size} are counted`;
  }
  for (const [at, pick] of picks.entries()) {
    if (pick.vertex === NO_PARENT) continue;
    for (const above of ancestorsOf(graph, pick.vertex)) {
      if ((use?.taken(above) ?? 0) > 0) return `pick ${at}: others have what it is in`;
      if (!whole.has(above)) continue;
      if (!holdersOf(picks, pick).includes(whole.get(above) ?? -1)) {
        return `pick ${at}: inside what another pick takes whole`;
      }
    }
  }
  return undefined;
}

function holdersOf(picks: readonly Pick[], { inside }: Pick): number[] {
  const holders: number[] = [];
  for (let at = inside; at >= 0; at = picks[at]?.inside ?? -1) holders.push(at);
  return holders;
}

function* ancestorsOf(graph: Graph, vertex: number): Iterable<number> {
  let at = graph.parentOf[vertex] ?? NO_PARENT;
  while (at !== NO_PARENT) {
    yield at;
    at = graph.parentOf[at] ?? NO_PARENT;
  }
}

const isInside = (graph: Graph, vertex: number, host: number): boolean =>
  host === NO_PARENT
    ? vertex >= 0 && vertex < graph.ids.length
    : vertex > host && vertex < (graph.endOf[host] ?? 0);
