import type { FactEntry, Software } from "../../model/node/node-facts.ts";
import { nodeVertexId } from "../facts.ts";
import { byId, type Graph, vertexNumber } from "../graph.ts";
import { canonicalJson, type Scalar, scalarsOf } from "../metadata.ts";
import type { Subsystem, SubsystemVertex } from "./subsystem.ts";

export interface NodeSoftware {
  readonly name: string;
  readonly software: Software;
}

/**
 * The facts of nodes beyond their graph, as subsystems of their cluster; `graph` is the one that
 * `clusterGraph` makes of the same nodes. Equal entries of several nodes are one vertex, so that a
 * thousand equal machines take the space of one. Sorted by name.
 */
export function subsystemsOf(
  cluster: string,
  nodes: readonly NodeSoftware[],
  graph: Graph,
): readonly Subsystem[] {
  const drafts = new Map<string, Draft>();
  for (const { name, software } of nodes) {
    const vertex = vertexNumber(graph, nodeVertexId(cluster, name));
    if (vertex === undefined) continue;
    for (const [subsystem, entries] of Object.entries(software)) {
      if (entries.length === 0) continue;
      let draft = drafts.get(subsystem);
      if (draft === undefined) drafts.set(subsystem, (draft = new Draft(subsystem)));
      draft.link(vertex, entries);
    }
  }
  return [...drafts.values()]
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map((draft) => draft.toSubsystem());
}

/** Collects the entries of one subsystem and the nodes that have them. */
class Draft {
  readonly name: string;
  readonly #metadataByText = new Map<string, Readonly<Record<string, Scalar>>>();
  readonly #textsByVertex = new Map<number, readonly string[]>();
  /** Equal nodes share their lists: each is rendered once. */
  readonly #textsByEntries = new Map<readonly FactEntry[], readonly string[]>();

  constructor(name: string) {
    this.name = name;
  }

  link(vertex: number, entries: readonly FactEntry[]): void {
    let texts = this.#textsByEntries.get(entries);
    if (texts === undefined) {
      texts = entries.map((entry) => this.#add(entry));
      this.#textsByEntries.set(entries, texts);
    }
    this.#textsByVertex.set(vertex, texts);
  }

  #add(entry: FactEntry): string {
    const metadata = { ...entry, type: typeOf(entry, this.name), size: entry["size"] ?? 1 };
    const text = canonicalJson(metadata, this.name);
    if (!this.#metadataByText.has(text)) this.#metadataByText.set(text, metadata);
    return text;
  }

  toSubsystem(): Subsystem {
    const texts = [...this.#metadataByText.keys()].sort();
    const all = texts.map((text) => this.#metadataByText.get(text) ?? {});
    const ids = uniqueIds(all.map((metadata) => idOf(this.name, metadata)));
    const order = ids.map((_, number) => number).sort(byId(ids));
    const placeOf = new Map(order.map((old, at) => [texts[old] ?? "", at]));
    const placesByTexts = new Map<readonly string[], readonly number[]>();
    const placesOf = (own: readonly string[]): readonly number[] => {
      let places = placesByTexts.get(own);
      if (places === undefined) {
        places = [...new Set(own.map((text) => placeOf.get(text) ?? 0))].sort((a, b) => a - b);
        placesByTexts.set(own, places);
      }
      return places;
    };
    return {
      name: this.name,
      vertices: order.map((old): SubsystemVertex => {
        const [id, metadata] = [ids[old] ?? "", all[old] ?? {}];
        return { id, label: id, metadata, scalars: scalarsOf(metadata) };
      }),
      links: new Map([...this.#textsByVertex].map(([vertex, own]) => [vertex, placesOf(own)])),
      inner: [],
    };
  }
}

/** As in documents for other schedulers: a request for `type` finds the entry by its `name`. */
function typeOf(entry: FactEntry, subsystem: string): string {
  const { type, name } = entry;
  if (typeof type === "string") return type;
  if (typeof name === "string" && name !== "") return name;
  const [only, ...rest] = Object.values(entry);
  return rest.length === 0 && typeof only === "string" && only !== "" ? only : subsystem;
}

const ID_LENGTH_MAX = 400;

/** "spack/ior@3.3.0": ids never begin with a slash, as all ids of a cluster's graph do. */
function idOf(subsystem: string, { type, version }: Readonly<Record<string, Scalar>>): string {
  const of = version === undefined ? "" : `@${version}`;
  return `${subsystem}/${type}${of}`.slice(0, ID_LENGTH_MAX);
}

/** The second id of one name gets "#2". */
function uniqueIds(names: readonly string[]): readonly string[] {
  const taken = new Set<string>();
  return names.map((name) => {
    let id = name;
    for (let number = 2; taken.has(id); number++) id = `${name}#${number}`;
    taken.add(id);
    return id;
  });
}
