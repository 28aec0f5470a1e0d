import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { CompiledRequest } from "./compile-request.ts";
import { explainRefusal, type Refusal } from "./explain.ts";
import type { Graph } from "./graph.ts";
import { type Layout, layOut } from "./layout.ts";
import { type Match, match, newBudgets, stepsTaken } from "./match.ts";
import type { MatchTotal } from "./match-total.ts";
import type { Subsystem } from "./subsystem.ts";
import { Use } from "./use.ts";

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
}

function sharedMatch(
  { layout, answers }: Family,
  request: CompiledRequest,
  total?: MatchTotal,
): Match {
  const known = answers.get(request);
  if (known !== undefined) return known;
  const budgets = newBudgets();
  total?.check();
  const shared = match(layout, request, undefined, budgets);
  total?.add(stepsTaken(budgets));
  answers.set(request, shared);
  return shared;
}

interface Member {
  readonly graph: Graph;
  readonly subsystems: ReadonlyMap<string, Subsystem>;
  readonly use: Use;
  /** Made when it is first wanted: subsystems often come by the dozen. */
  layout: Layout | undefined;
  family: string | undefined;
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

  /** Which clusters could ever meet a request, or could now with what is free. */
  satisfy(request: CompiledRequest, when: "ever" | "now", total?: MatchTotal): Satisfied {
    for (const cluster of this.#fresh) this.layout(cluster);
    const matches: ClusterMatch[] = [];
    const mismatches: string[] = [];
    const tell = (cluster: string, { fits, alternative, slots }: Match): void => {
      if (fits) matches.push({ cluster, fits, alternative, slots });
      else mismatches.push(cluster);
    };
    for (const family of this.#families.values()) {
      const shared = sharedMatch(family, request, total);
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
  explain(
    cluster: string,
    request: CompiledRequest,
    when: "ever" | "now",
    total?: MatchTotal,
  ): readonly Refusal[] {
    const use = when === "now" ? this.use(cluster) : undefined;
    const budgets = { ever: newBudgets(), now: newBudgets() };
    const refusals = explainRefusal(this.layout(cluster), request, use, budgets);
    total?.add(stepsTaken(budgets.ever) + stepsTaken(budgets.now));
    return refusals;
  }

  #get(cluster: string): Member {
    const member = this.#members.get(cluster);
    if (member === undefined) throw invalid("cluster", `${JSON.stringify(cluster)} has no graph`);
    return member;
  }

  #set(cluster: string, parts: Pick<Member, "graph" | "subsystems" | "use">): void {
    this.version++;
    this.#leaveFamily(cluster);
    this.#members.set(cluster, { ...parts, layout: undefined, family: undefined });
    this.#fresh.add(cluster);
  }

  #layOut(cluster: string, member: Member): Layout {
    const own = layOut(member.graph, member.subsystems);
    // One that is like no other is a family of its own; no key of shapes begins like this.
    const key = own.key ?? `only ${cluster}`;
    const family = this.#families.get(key);
    if (family === undefined) {
      this.#families.set(key, { layout: own, names: new Set([cluster]), answers: new WeakMap() });
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
