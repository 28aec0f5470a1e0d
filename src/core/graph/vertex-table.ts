import { type AppError, invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { isKey, isPrintable, visible } from "../model/texts.ts";
import { canonicalJson, isRecord } from "./metadata.ts";

/** Type, size and unit of a vertex; the table holds each combination once. */
export interface Kind {
  /** core, node, gpu, memory, …; "resource" where the document does not say. */
  readonly type: string;
  /** The number of pieces, or the amount in `unit`. */
  readonly size: number;
  readonly unit: string;
}

/** Vertices by number, in columns: a graph may have a million of them. */
export interface VertexTable {
  readonly ids: string[];
  readonly kinds: readonly Kind[];
  /** The number of each vertex's kind. */
  readonly kindOf: number[];
  /** Only labels that differ from the id. */
  readonly labels: Map<number, string>;
  /** Metadata other than type, size and unit, as canonical JSON; undefined for none. */
  readonly extras: (string | undefined)[];
}

/** Collects vertices and checks them one by one. */
export class VertexTableBuilder {
  readonly table: VertexTable;
  readonly numberOf = new Map<string, number>();
  readonly #kinds: Kind[] = [];
  readonly #kindNumbers = new Map<string, Map<number, Map<string, number>>>();
  /** Holds equal metadata once. */
  readonly #texts = new Map<string, string>();
  readonly #typesMax: number;
  #metadataChars = 0;

  constructor(typesMax: number) {
    this.#typesMax = typesMax;
    this.table = { ids: [], kinds: this.#kinds, kindOf: [], labels: new Map(), extras: [] };
  }

  /** `field` is a function, because only an error needs its text. */
  add(id: string, { type, size, unit }: Kind, field: () => string): number {
    return this.addParts(id, type, size, unit, field);
  }

  /** The same without allocating an object for each of a million vertices. */
  addParts(id: string, type: string, size: number, unit: string, field: () => string): number {
    const { ids, kindOf, extras } = this.table;
    const number = ids.length;
    if (number >= limits.graphVerticesMax) {
      throw invalid("graph.nodes", `at most ${limits.graphVerticesMax} vertices`);
    }
    if (id === "") throw invalid(field(), "an id must not be empty");
    this.numberOf.set(id, number);
    if (this.numberOf.size === number) throw invalid(field(), `the id ${quote(id)} appears twice`);
    ids.push(id);
    kindOf.push(this.#kindNumber(type, size, unit, field));
    extras.push(undefined);
    return number;
  }

  describe(number: number, label: string | undefined, extra: string | undefined): void {
    if (label !== undefined && label !== this.table.ids[number]) {
      this.table.labels.set(number, label);
    }
    if (extra === undefined) return;
    this.#metadataChars += extra.length;
    if (this.#metadataChars > limits.graphMetadataCharsMax) {
      throw invalid(
        "graph.nodes",
        `at most ${limits.graphMetadataCharsMax} characters of metadata`,
      );
    }
    let shared = this.#texts.get(extra);
    if (shared === undefined) this.#texts.set(extra, (shared = extra));
    this.table.extras[number] = shared;
  }

  #kindNumber(type: string, size: number, unit: string, field: () => string): number {
    let bySize = this.#kindNumbers.get(type);
    if (bySize === undefined) {
      if (this.#kindNumbers.size >= this.#typesMax) {
        throw invalid(`${field()}.metadata.type`, `at most ${this.#typesMax} different types`);
      }
      this.#kindNumbers.set(type, (bySize = new Map()));
    }
    let byUnit = bySize.get(size);
    if (byUnit === undefined) bySize.set(size, (byUnit = new Map()));
    let number = byUnit.get(unit);
    if (number === undefined) {
      number = this.#kinds.push({ type, size, unit }) - 1;
      byUnit.set(unit, number);
    }
    return number;
  }
}

/** The vertices of a JGF document, by id or as a list of vertices with ids. */
export function readVertices(nodes: unknown, typesMax: number): VertexTableBuilder {
  const builder = new VertexTableBuilder(typesMax);
  if (Array.isArray(nodes)) {
    for (const [at, vertex] of (nodes as unknown[]).entries()) {
      const field = (): string => `graph.nodes[${at}]`;
      if (!isRecord(vertex)) throw invalid(field(), "must be an object");
      const id = vertex["id"];
      if (typeof id !== "string") throw invalid(`${field()}.id`, mustBe("a text", id));
      readVertex(builder, id, vertex, field);
    }
  } else if (isRecord(nodes)) {
    for (const id of Object.keys(nodes)) {
      readVertex(builder, id, nodes[id], () => `graph.nodes.${shorten(id)}`);
    }
  } else {
    throw invalid("graph.nodes", mustBe("an object of vertices by id, or a list", nodes));
  }
  if (builder.table.ids.length === 0) throw invalid("graph.nodes", "at least one vertex is needed");
  return builder;
}

function readVertex(
  builder: VertexTableBuilder,
  id: string,
  vertex: unknown,
  field: () => string,
): void {
  if (!isRecord(vertex)) throw invalid(field(), mustBe("an object", vertex));
  if (id.length > limits.graphTextLengthMax) {
    throw invalid(field(), `an id has at most ${limits.graphTextLengthMax} characters`);
  }
  if (!isPrintable(id)) throw invalid(field(), "an id must not have control characters");
  const { label, metadata = NO_METADATA } = vertex;
  if (!isRecord(metadata)) throw invalid(`${field()}.metadata`, mustBe("an object", metadata));
  const { type = "resource", size = 1, unit = "" } = metadata;
  if (!isText(type, limits.graphTextLengthMax) || !isKey(type)) {
    throw wrongText(`${field()}.metadata.type`, type, limits.graphTextLengthMax);
  }
  if (!isText(unit, limits.unitLengthMax)) {
    throw wrongText(`${field()}.metadata.unit`, unit, limits.unitLengthMax);
  }
  if (typeof size !== "number") {
    throw invalid(`${field()}.metadata.size`, mustBe("a number", size));
  }
  if (!(size >= 0 && size <= Number.MAX_SAFE_INTEGER)) {
    throw invalid(`${field()}.metadata.size`, `must be from 0 to 2^53, not ${size}`);
  }
  const name = label ?? id;
  if (!isText(name, limits.graphTextLengthMax)) {
    throw wrongText(`${field()}.label`, name, limits.graphTextLengthMax);
  }
  const number = builder.addParts(id, type, size, unit, field);
  builder.describe(number, name, extraOf(metadata, field));
}

const NO_METADATA = {};

const isText = (value: unknown, lengthMax: number): value is string =>
  typeof value === "string" && value.length <= lengthMax && isPrintable(value);

function wrongText(field: string, value: unknown, lengthMax: number): AppError {
  if (typeof value !== "string") return invalid(field, mustBe("a text", value));
  if (value === "") return invalid(field, "must not be empty");
  if (value.length > lengthMax) return invalid(field, `at most ${lengthMax} characters`);
  return invalid(field, 'must not have control characters, nor be "__proto__"');
}

function extraOf(
  metadata: Readonly<Record<string, unknown>>,
  field: () => string,
): string | undefined {
  let others: Record<string, unknown> | undefined;
  for (const key in metadata) {
    if (key === "type" || key === "size" || key === "unit" || metadata[key] === undefined) continue;
    others ??= Object.create(null) as Record<string, unknown>;
    others[key] = metadata[key];
  }
  if (others === undefined) return undefined;
  const text = canonicalJson(others, `${field()}.metadata`);
  if (text.length > limits.vertexMetadataCharsMax) {
    const most = limits.vertexMetadataCharsMax;
    throw invalid(`${field()}.metadata`, `at most ${most} characters, not ${text.length}`);
  }
  // A control character in a key shows in the text; values may contain anything.
  if (text.includes("\\") || !isPrintable(text)) checkKeys(others, field);
  return text;
}

/** `canonicalJson` has limited the depth. */
function checkKeys(value: unknown, field: () => string): void {
  if (Array.isArray(value)) for (const item of value as unknown[]) checkKeys(item, field);
  if (!isRecord(value)) return;
  for (const [key, inner] of Object.entries(value)) {
    if (!isPrintable(key)) {
      throw invalid(`${field()}.metadata`, `the key ${quote(key)} has control characters`);
    }
    checkKeys(inner, field);
  }
}

/** All metadata of a vertex, as in a document. */
export function metadataOf(
  table: Pick<VertexTable, "kinds"> & {
    readonly kindOf: ArrayLike<number>;
    readonly extras: readonly (string | undefined)[];
  },
  number: number,
): Record<string, unknown> {
  const kind = table.kinds[table.kindOf[number] ?? -1];
  const extra = table.extras[number];
  const others = extra === undefined ? {} : (JSON.parse(extra) as Record<string, unknown>);
  const metadata = { ...others, type: kind?.type ?? "resource", size: kind?.size ?? 1 };
  return kind === undefined || kind.unit === "" ? metadata : { ...metadata, unit: kind.unit };
}

export function mustBe(wanted: string, value: unknown): string {
  const found = value === null ? "null" : Array.isArray(value) ? "a list" : `a ${typeof value}`;
  return `must be ${wanted}, not ${value === undefined ? "missing" : found}`;
}

export const shorten = (text: string): string =>
  text.length > 60 ? `${visible(text, 60)}…` : visible(text, 60);
export const quote = (text: string): string => JSON.stringify(shorten(text));
