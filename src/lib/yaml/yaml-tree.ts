import { isAlias, isMap, isNode, isScalar, isSeq, type LineCounter, type Scalar } from "yaml";
import { parseYamlDocuments, type YamlDocument } from "./yaml-documents.ts";

/** A position in a text; both numbers count from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** One value of a YAML or JSON text as plain data, with its position. */
export type YamlTree =
  | {
      readonly kind: "scalar";
      readonly at: Position;
      readonly value: string | number | boolean | null;
      /** The original text: 1.20 stays "1.20". */
      readonly source: string;
    }
  | { readonly kind: "list"; readonly at: Position; readonly items: readonly YamlTree[] }
  | { readonly kind: "map"; readonly at: Position; readonly entries: readonly YamlEntry[] };

export interface YamlEntry {
  readonly key: string;
  /** The position of the key. */
  readonly at: Position;
  readonly value: YamlTree;
}

export interface YamlBounds {
  readonly charsMax: number;
  /** The limit of documents that are not empty; undefined: one. */
  readonly documentsMax?: number;
  readonly depthMax: number;
  /** The limit of values; the values of an alias count each time. */
  readonly valuesMax: number;
}

/** The tree of a text, or the first problem of the text with its position. */
export type ParsedTree = { readonly kind: "tree"; readonly tree: YamlTree } | BrokenYaml;
/** The same for a text with several documents. */
export type ParsedTrees =
  | { readonly kind: "trees"; readonly trees: readonly YamlTree[] }
  | BrokenYaml;

interface BrokenYaml {
  readonly kind: "broken";
  readonly at: Position;
  readonly message: string;
}

const START: Position = { line: 1, column: 1 };

/**
 * The only document of a text, by YAML 1.2 (which includes JSON): yes, no, y and n are texts. An alias has the value that it names, at the
 * position of the alias.
 */
export const parseYamlTree = (text: string, bounds: YamlBounds): ParsedTree =>
  unlessBroken(() => ({ kind: "tree", tree: onlyOne(parse(text, bounds)) }));

/** The documents of a text that are not empty. The limits on values and characters hold for all of them together. */
export const parseYamlTrees = (text: string, bounds: YamlBounds): ParsedTrees =>
  unlessBroken(() => ({ kind: "trees", trees: parse(text, bounds) }));

function unlessBroken<T>(parsed: () => T): T | BrokenYaml {
  try {
    return parsed();
  } catch (error) {
    if (!(error instanceof Broken)) throw error;
    return { kind: "broken", at: error.at, message: error.message };
  }
}

function onlyOne([first, second]: readonly YamlTree[]): YamlTree {
  if (first === undefined) throw new Broken(START, "is empty");
  if (second !== undefined) throw new Broken(second.at, "a second document; give one at a time");
  return first;
}

/** The tree as plain data, without positions. */
export function toPlain(tree: YamlTree): unknown {
  switch (tree.kind) {
    case "scalar":
      return tree.value;
    case "list":
      return tree.items.map(toPlain);
    case "map":
      return Object.fromEntries(tree.entries.map(({ key, value }) => [key, toPlain(value)]));
  }
}

/** The position of the value at a path like "[0].steps[1].calc", or of the nearest value above it. */
export function positionAt(tree: YamlTree, path: string): Position {
  let at = tree;
  for (const [, index, key] of path.matchAll(/\[(\d+)\]|\.([^.[\]]+)/g)) {
    const inner =
      at.kind === "list"
        ? at.items[Number(index)]
        : at.kind === "map"
          ? at.entries.find((entry) => entry.key === key)?.value
          : undefined;
    if (inner === undefined) break;
    at = inner;
  }
  return at.at;
}

/** Thrown and caught in this file only. */
class Broken extends Error {
  readonly at: Position;

  constructor(at: Position, message: string) {
    super(message);
    this.at = at;
  }
}

function parse(text: string, bounds: YamlBounds): readonly YamlTree[] {
  if (text.length > bounds.charsMax) {
    throw new Broken(START, `has ${text.length} characters; at most ${bounds.charsMax}`);
  }
  const { depthMax, valuesMax, documentsMax = DOCUMENTS_MAX } = bounds;
  const parsed = parseYamlDocuments(text, { depthMax, valuesMax, documentsMax });
  const { lines } = parsed;
  if (parsed.kind === "broken") throw new Broken(positionOf(lines, parsed.offset), parsed.message);
  const maker = new TreeMaker(lines, bounds);
  return parsed.documents.map((document) => maker.document(document));
}

/** One document that is not empty, and some empty ones. */
const DOCUMENTS_MAX = 10;
/** With aliases expanded, a tree may hold so many times its text. */
const CHARS_FACTOR = 4;

function positionOf(lines: LineCounter, offset: number): Position {
  const { line, col } = lines.linePos(offset);
  return line === 0 ? START : { line, column: col };
}

/** Guards the count of values: a few aliases of aliases could expand to a billion. */
class TreeMaker {
  readonly #lines: LineCounter;
  readonly #bounds: YamlBounds;
  #meant: YamlDocument["meant"] = new Map();
  #values = 0;
  #chars = 0;

  constructor(lines: LineCounter, bounds: YamlBounds) {
    this.#lines = lines;
    this.#bounds = bounds;
  }

  document({ document, meant }: YamlDocument): YamlTree {
    this.#meant = meant;
    return this.#make(document.contents, START, 0);
  }

  /** `near`: the position to report when the value itself has none, as after "key:". */
  #make(node: unknown, near: Position, depth: number): YamlTree {
    const at = this.#at(node, near);
    this.#values += 1;
    if (this.#values > this.#bounds.valuesMax) {
      throw new Broken(at, `more than ${this.#bounds.valuesMax} values, with aliases`);
    }
    if (depth > this.#bounds.depthMax) {
      throw new Broken(at, `nested more than ${this.#bounds.depthMax} deep`);
    }
    const meant = isAlias(node) ? this.#meant.get(node) : node;
    if (isAlias(node) && meant === undefined) {
      throw new Broken(at, `nothing above is named &${node.source}`);
    }
    if (isSeq(meant)) {
      return {
        kind: "list",
        at,
        items: meant.items.map((each) => this.#make(each, at, depth + 1)),
      };
    }
    if (isMap(meant)) {
      const entries = meant.items.map(({ key, value }) => this.#entry(key, value, at, depth + 1));
      return { kind: "map", at, entries };
    }
    if (isScalar(meant)) return { kind: "scalar", at, ...this.#scalar(meant, at) };
    if (meant === null || meant === undefined) return { kind: "scalar", at, ...NOTHING };
    throw new Broken(at, "must be a text, a number, a list or a map");
  }

  #entry(key: unknown, value: unknown, near: Position, depth: number): YamlEntry {
    const name = this.#make(key, near, depth);
    if (name.kind !== "scalar") throw new Broken(name.at, "a key must be a text");
    const text = typeof name.value === "string" ? name.value : name.source;
    return { key: text, at: name.at, value: this.#make(value, name.at, depth) };
  }

  #scalar({ value, source }: Scalar, at: Position): ReturnType<typeof scalar> {
    const found = scalar(value, source);
    this.#chars += found.source.length;
    const charsMax = CHARS_FACTOR * this.#bounds.charsMax;
    if (this.#chars <= charsMax) return found;
    throw new Broken(at, `more than ${charsMax} characters, with aliases`);
  }

  #at(node: unknown, near: Position): Position {
    const offset = isNode(node) ? node.range?.[0] : undefined;
    return offset === undefined ? near : positionOf(this.#lines, offset);
  }
}

const NOTHING = { value: null, source: "" } as const;

function scalar(value: unknown, source: string | undefined) {
  if (typeof value === "string") return { value, source: value };
  if (value === null) return { value, source: source ?? "" };
  if (typeof value === "number" || typeof value === "boolean") {
    return { value, source: source ?? String(value) };
  }
  // A text with a tag of its own, as in YAML 1.1, is a text here.
  return { value: source ?? "", source: source ?? "" };
}
