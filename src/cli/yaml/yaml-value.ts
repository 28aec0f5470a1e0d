import { isAlias, isMap, isNode, isScalar, isSeq, type LineCounter, type Node } from "yaml";
import { type AppError, invalid } from "../../lib/errors.ts";
import { nearest } from "../../lib/nearest.ts";
import { parseYamlDocuments, type YamlDocument } from "../../lib/yaml/yaml-documents.ts";
import { limits } from "../../limits.ts";

/** Enough for any honest file; a chain of lists of aliases grows a billionfold with a few dozen. */
const ALIASES_MAX = 1_000;
/** A job needs four levels; a document is one job or more, a value one of its words. */
const SHAPE = {
  depthMax: 100,
  documentsMax: limits.submitJobsMax,
  valuesMax: 100 * limits.submitJobsMax,
} as const;

/** One value of a YAML or JSON file that knows where it stands. */
export interface Value {
  /** "jobs.yaml:3:5: resources.memory", for messages. */
  readonly at: string;
  readonly kind: "text" | "list" | "map" | "nothing";
  fail(message: string): AppError;
  /** A scalar as it was written: 0644 stays "0644", yes stays "yes". */
  text(): string;
  /** As plain data, with what aliases stand for. */
  plain(): unknown;
  list(): readonly Value[];
  /** All entries of a map with keys of the file's own choice. */
  entries(): readonly (readonly [string, Value])[];
  /** The entries of a map whose keys must be among the known. */
  fields<Key extends string>(known: readonly Key[]): ReadonlyMap<Key, Value>;
}

interface Source {
  readonly file: string;
  readonly lines: LineCounter;
  readonly meant: YamlDocument["meant"];
  aliases: number;
}

/** The documents of a file. `file` is how errors call it. */
export function readYaml(content: string, file: string): readonly Value[] {
  const parsed = parseYamlDocuments(content, SHAPE);
  const { lines } = parsed;
  if (parsed.kind === "broken") {
    throw invalid(`${file}:${position(lines, parsed.offset)}`, parsed.message);
  }
  return parsed.documents.map(({ document, meant }) =>
    toValue({ file, lines, meant, aliases: 0 }, document.contents, ""),
  );
}

function toValue(source: Source, node: unknown, path: string, place?: Node): Value {
  const written = isNode(node) ? node : place;
  const resolved = resolve(source, node);
  const where = `${source.file}:${position(source.lines, written?.range?.[0] ?? 0)}`;
  const at = path === "" ? where : `${where}: ${path}`;
  const fail = (message: string) => invalid(at, message);
  const child = (key: string) => (path === "" ? key : `${path}.${key}`);
  return {
    at,
    kind: kindOf(resolved),
    fail,
    text() {
      if (!isScalar(resolved) || resolved.value === null) throw fail("must be a text or a number");
      return typeof resolved.value === "string" ? resolved.value : String(resolved.source);
    },
    plain() {
      if (isSeq(resolved)) return this.list().map((item) => item.plain());
      if (!isMap(resolved)) return isScalar(resolved) ? resolved.value : null;
      return Object.fromEntries(this.entries().map(([key, value]) => [key, value.plain()]));
    },
    list() {
      if (!isSeq(resolved)) throw fail("must be a list");
      return resolved.items.map((item, index) =>
        toValue(source, item, `${path}[${index}]`, written),
      );
    },
    entries() {
      if (!isMap(resolved)) throw fail("must be a map of keys and values");
      return resolved.items.map(({ key, value }) => {
        const name = toValue(source, key, path, written).text();
        return [name, toValue(source, value, child(name), isNode(key) ? key : written)] as const;
      });
    },
    fields(known) {
      if (!isMap(resolved)) throw fail("must be a map of keys and values");
      return new Map(
        resolved.items.map(({ key, value }) => {
          const name = toValue(source, key, path, written);
          const found = known.find((each) => each === name.text());
          if (found === undefined) throw unknownKey(name, known);
          return [found, toValue(source, value, child(found), isNode(key) ? key : written)];
        }),
      );
    },
  };
}

function unknownKey(name: Value, known: readonly string[]): AppError {
  const meant = nearest(name.text(), known);
  const hint =
    meant === undefined ? `; there are ${known.join(", ")}` : `; did you mean "${meant}"?`;
  return name.fail(`unknown key "${name.text()}"${hint}`);
}

/** Follows an alias, but not endlessly. */
function resolve(source: Source, node: unknown): unknown {
  if (!isAlias(node)) return node;
  source.aliases += 1;
  if (source.aliases > ALIASES_MAX) {
    throw invalid(source.file, `uses aliases more than ${ALIASES_MAX} times`);
  }
  return source.meant.get(node);
}

function kindOf(node: unknown): Value["kind"] {
  if (isSeq(node)) return "list";
  if (isMap(node)) return "map";
  return isScalar(node) && node.value !== null ? "text" : "nothing";
}

function position(lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset);
  return `${line}:${col}`;
}
