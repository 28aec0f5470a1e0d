import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { CompiledRequest } from "./match/compile-request.ts";
import { explainRefusal } from "./match/explain.ts";
import type { Refusal } from "./match/refusal.ts";
import type { Graph } from "./graph.ts";
import { type Layout, layOut } from "./layout.ts";
import { allocate, type Allocated, type Match, match } from "./match/match.ts";
import type { MatchTotal } from "./match/match-total.ts";
import type { Slicer } from "./match/match-work.ts";
import type { Subsystem } from "./subsystems/subsystem.ts";
import { Use } from "./match/use.ts";

export interface ClusterMatch extends Match {
  readonly cluster: string;
}

/** Cluster names, sorted. */
export interface Satisfied {
  readonly matches: readonly ClusterMatch[];
  readonly mismatches: readonly string[];
}

/**
 * Clusters whose layouts give the same answer to every request: the request is matched once for all
 * of them.
 */
interface Family {
  readonly layout: Layout;
  readonly names: Set<string>;
  readonly answers: WeakMap<CompiledRequest, Match>;
  /** Why the family can never satisfy a request. */
  readonly refusals: WeakMap<CompiledRequest, readonly Refusal[]>;
}

function sharedMatch({ layout, answers }: Family, request: CompiledRequest): Match {
  let shared = answers.get(request);
  if (shared === undefined) answers.set(request, (shared = match(layout, request)));
  return shared;
}

function sharedRefusals({ layout, refusals }: Family, request: CompiledRequest) {
  let shared = refusals.get(request);
  if (shared === undefined) refusals.set(request, (shared = explainRefusal(layout, request)));
  return shared;
}

interface Member {
  readonly graph: Graph;
  readonly subsystems: ReadonlyMap<string, Subsystem>;
  readonly use: Use;
  /** Made on first use: clusters often add subsystems by the dozen. */
  layout: Layout | undefined;
  family: string | undefined;
  /** The vertices that a request would get on the empty graph. */
  readonly allocations: WeakMap<CompiledRequest, Allocated>;
}

/**
 * The graphs of all clusters with their subsystems and their use. Keeps a cluster's graph, its
 * subsystems and its use consistent with each other.
 */
export class ClusterGraphs {
  readonly #members = new Map<string, Member>();
  readonly #families = new Map<string, Family>();
  /** Grows with each change of a cluster, graph or subsystem. */
  version = 0;
  /** Clusters whose layout is not made yet. */
  readonly #fresh = new Set<string>();

  get names(): readonly string[] {
    return [...this.#members.keys()].sort();
  }

  /**
   * Adds a cluster, or replaces its graph. Its subsystems are dropped with the old graph, because
   * their links name its vertices. The record of use stays, also for vertices that the new graph
   * lacks: they may return.
   */
  put(cluster: string, graph: Graph): void {
    const use = this.#members.get(cluster)?.use.moveTo(graph) ?? new Use(graph);
    this.#set(cluster, { graph, subsystems: new Map(), use });
  }

  /**
   * Adds a subsystem that was read for the cluster's graph, or replaces the one with the same name.
   */
  putSubsystem(cluster: string, subsystem: Subsystem): void {
    const { graph, subsystems, use } = this.#get(cluster);
    if (!subsystems.has(subsystem.name) && subsystems.size >= limits.subsystemsMax) {
      throw invalid("subsystem", `a cluster has at most ${limits.subsystemsMax}`);
    }
    const next = new Map(subsystems).set(subsystem.name, subsystem);
    this.#set(cluster, { graph, subsystems: next, use });
  }

  /** Removes a subsystem with all its links; false when the cluster has none of this name. */
  deleteSubsystem(cluster: string, name: string): boolean {
    const { graph, subsystems, use } = this.#get(cluster);
    const next = new Map(subsystems);
    const isThere = next.delete(name);
    if (isThere) this.#set(cluster, { graph, subsystems: next, use });
    return isThere;
  }

  delete(cluster: string): boolean {
    this.version++;
    this.#leaveFamily(cluster);
    this.#fresh.delete(cluster);
    return this.#members.delete(cluster);
  }

  get isEmpty(): boolean {
    return this.#members.size === 0;
  }

  has(cluster: string): boolean {
    return this.#members.has(cluster);
  }

  graph(cluster: string): Graph {
    return this.#get(cluster).graph;
  }

  subsystems(cluster: string): ReadonlyMap<string, Subsystem> {
    return this.#get(cluster).subsystems;
  }

  /** The record of what jobs use of the cluster. Store shares by vertex id: see `sharesOf`. */
  use(cluster: string): Use {
    return this.#get(cluster).use;
  }

  layout(cluster: string): Layout {
    const member = this.#get(cluster);
    return member.layout ?? this.#layOut(cluster, member);
  }

  /**
   * Whether the empty cluster can satisfy a request. Matched once for all clusters of its family.
   */
  match(cluster: string, request: CompiledRequest): Match {
    const own = this.layout(cluster);
    const family = this.#families.get(this.#get(cluster).family ?? "");
    return family === undefined ? match(own, request) : sharedMatch(family, request);
  }

  /**
   * Makes all layouts that are missing. Called at start, before the first request waits for one.
   */
  layOutAll(): void {
    for (const cluster of this.#fresh) this.layout(cluster);
  }

  /** Whether any registered cluster, when empty, can satisfy a request. */
  isPossible(request: CompiledRequest): boolean {
    this.layOutAll();
    return this.#families.values().some((family) => sharedMatch(family, request).fits);
  }

  /** The vertices that a request would get on the empty graph. Many tasks share one answer. */
  allocation(cluster: string, request: CompiledRequest): Allocated {
    const { allocations } = this.#get(cluster);
    let known = allocations.get(request);
    if (known === undefined) {
      allocations.set(request, (known = allocate(this.layout(cluster), request)));
    }
    return known;
  }

  /**
   * Matches a request against every graph and, with `reasons`, explains each mismatch; later calls
   * for the same request use these results. Yields between slices.
   */
  *matchAll(
    request: CompiledRequest,
    total: MatchTotal,
    { reasons, slicer }: { readonly reasons: boolean; readonly slicer: Slicer },
  ): Generator<undefined, void> {
    for (const cluster of this.#fresh) yield* slicer.next(() => void this.layout(cluster));
    for (const family of this.#families.values()) {
      if (!family.answers.has(request)) {
        yield* slicer.next(() => total.count(() => sharedMatch(family, request)));
      }
      if (!reasons || family.refusals.has(request) || sharedMatch(family, request).fits) continue;
      yield* slicer.next(() => total.count(() => sharedRefusals(family, request)));
    }
  }

  /**
   * The clusters that can satisfy a request when empty ("ever"), or with what is free at present
   * ("now").
   */
  satisfy(request: CompiledRequest, when: "ever" | "now"): Satisfied {
    this.layOutAll();
    const matches: ClusterMatch[] = [];
    const mismatches: string[] = [];
    const tell = (cluster: string, { fits, alternative, slots }: Match): void => {
      if (fits) matches.push({ cluster, fits, alternative, slots });
      else mismatches.push(cluster);
    };
    for (const family of this.#families.values()) {
      const shared = sharedMatch(family, request);
      for (const cluster of family.names) {
        const use = when === "now" ? this.#members.get(cluster)?.use : undefined;
        // A request that does not fit the empty graph does not fit now either.
        const isShared = use === undefined || use.isEmpty || !shared.fits;
        tell(cluster, isShared ? shared : match(this.layout(cluster), request, use));
      }
    }
    matches.sort((one, other) => (one.cluster < other.cluster ? -1 : 1));
    return { matches, mismatches: mismatches.sort() };
  }

  /** Why a cluster cannot satisfy a request, one reason for each alternative. */
  explain(cluster: string, request: CompiledRequest, when: "ever" | "now"): readonly Refusal[] {
    const layout = this.layout(cluster);
    if (when === "now") return explainRefusal(layout, request, this.use(cluster));
    const family = this.#families.get(this.#get(cluster).family ?? "");
    return family === undefined ? explainRefusal(layout, request) : sharedRefusals(family, request);
  }

  #get(cluster: string): Member {
    const member = this.#members.get(cluster);
    if (member === undefined) throw invalid("cluster", `${JSON.stringify(cluster)} has no graph`);
    return member;
  }

  #set(cluster: string, parts: Pick<Member, "graph" | "subsystems" | "use">): void {
    this.version++;
    this.#leaveFamily(cluster);
    const allocations: Member["allocations"] = new WeakMap();
    this.#members.set(cluster, { ...parts, layout: undefined, family: undefined, allocations });
    this.#fresh.add(cluster);
  }

  #layOut(cluster: string, member: Member): Layout {
    const own = layOut(member.graph, member.subsystems);
    // A cluster that equals no other is a family of its own. No key of shapes begins with "only".
    const key = own.key ?? `only ${cluster}`;
    const family = this.#families.get(key);
    if (family === undefined) {
      const answers: Family["answers"] = new WeakMap();
      const refusals: Family["refusals"] = new WeakMap();
      this.#families.set(key, { layout: own, names: new Set([cluster]), answers, refusals });
      member.layout = own;
    } else {
      family.names.add(cluster);
      // Equal keys mean equal shapes with equal numbers, so the family holds them once.
      const { shapes, linkSets, mostInside, types } = family.layout;
      member.layout = { ...own, shapes, linkSets, mostInside, types, key };
    }
    member.family = key;
    this.#fresh.delete(cluster);
    return member.layout;
  }

  #leaveFamily(cluster: string): void {
    const key = this.#members.get(cluster)?.family;
    const family = key === undefined ? undefined : this.#families.get(key);
    if (key === undefined || family === undefined) return;
    family.names.delete(cluster);
    if (family.names.size === 0) this.#families.delete(key);
  }
}
