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

/** Clusters by name, in the order of their names. */
export interface Satisfied {
  readonly matches: readonly ClusterMatch[];
  readonly mismatches: readonly string[];
}

/** Clusters whose layouts answer alike; each request is matched once for all of them. */
interface Family {
  readonly layout: Layout;
  readonly names: Set<string>;
  readonly answers: WeakMap<CompiledRequest, Match>;
  /** Why a request can never be met. */
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
  /** Made when it is first wanted: subsystems often come by the dozen. */
  layout: Layout | undefined;
  family: string | undefined;
  /** What requests would get of the empty graph. */
  readonly allocations: WeakMap<CompiledRequest, Allocated>;
}

/**
 * The graphs of all clusters, with what is linked to them and what of them is in use. Guards that
 * a cluster's graph, its subsystems and its use belong together.
 */
export class ClusterGraphs {
  readonly #members = new Map<string, Member>();
  readonly #families = new Map<string, Family>();
  /** Another one whenever anything has changed that a request could be met by. */
  version = 0;
  /** Those whose layout is yet to be made. */
  readonly #fresh = new Set<string>();

  get names(): readonly string[] {
    return [...this.#members.keys()].sort();
  }

  /**
   * Adds a cluster, or replaces its graph. Subsystems go with the old graph: their links are to its
   * vertices. What is in use stays, and is remembered of vertices that are gone: they may return.
   */
  put(cluster: string, graph: Graph): void {
    const use = this.#members.get(cluster)?.use.moveTo(graph) ?? new Use(graph);
    this.#set(cluster, { graph, subsystems: new Map(), use });
  }

  /** Adds a subsystem that was read for the cluster's graph, or replaces the one of its name. */
  putSubsystem(cluster: string, subsystem: Subsystem): void {
    const { graph, subsystems, use } = this.#get(cluster);
    if (!subsystems.has(subsystem.name) && subsystems.size >= limits.subsystemsMax) {
      throw invalid("subsystem", `a cluster has at most ${limits.subsystemsMax}`);
    }
    const next = new Map(subsystems).set(subsystem.name, subsystem);
    this.#set(cluster, { graph, subsystems: next, use });
  }

  /** Removes a subsystem with all its links; false when there is none of this name. */
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

  /** For recording what jobs take. What is kept with a job should be by id: see `sharesOf`. */
  use(cluster: string): Use {
    return this.#get(cluster).use;
  }

  layout(cluster: string): Layout {
    const member = this.#get(cluster);
    return member.layout ?? this.#layOut(cluster, member);
  }

  /** Whether one cluster could ever meet a request: asked once for all that are like it. */
  match(cluster: string, request: CompiledRequest): Match {
    const own = this.layout(cluster);
    const family = this.#families.get(this.#get(cluster).family ?? "");
    return family === undefined ? match(own, request) : sharedMatch(family, request);
  }

  /** Makes what the first match would have to make: at a start, when nobody waits for an answer. */
  layOutAll(): void {
    for (const cluster of this.#fresh) this.layout(cluster);
  }

  /** Whether any cluster could ever meet a request. */
  isPossible(request: CompiledRequest): boolean {
    this.layOutAll();
    return this.#families.values().some((family) => sharedMatch(family, request).fits);
  }

  /** Which vertices of the empty graph a request would get: of many tasks the same. */
  allocation(cluster: string, request: CompiledRequest): Allocated {
    const { allocations } = this.#get(cluster);
    let known = allocations.get(request);
    if (known === undefined) {
      allocations.set(request, (known = allocate(this.layout(cluster), request)));
    }
    return known;
  }

  /**
   * Compares a request with every graph, and explains refusals when `reasons` says so: what is asked
   * of this request afterwards is known already. Yields between slices.
   */
  *learn(
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

  /** Which clusters could ever meet a request, or could now with what is free. */
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
        // What could never be met cannot be met now either.
        const isShared = use === undefined || use.isEmpty || !shared.fits;
        tell(cluster, isShared ? shared : match(this.layout(cluster), request, use));
      }
    }
    matches.sort((one, other) => (one.cluster < other.cluster ? -1 : 1));
    return { matches, mismatches: mismatches.sort() };
  }

  /** Why a cluster cannot meet a request, for each of its alternatives. */
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
    // One that is like no other is a family of its own; no key of shapes begins like this.
    const key = own.key ?? `only ${cluster}`;
    const family = this.#families.get(key);
    if (family === undefined) {
      const answers: Family["answers"] = new WeakMap();
      const refusals: Family["refusals"] = new WeakMap();
      this.#families.set(key, { layout: own, names: new Set([cluster]), answers, refusals });
      member.layout = own;
    } else {
      family.names.add(cluster);
      // The same key means the same shapes under the same numbers: they are held once.
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
