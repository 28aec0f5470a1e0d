import { type AppError, invalid } from "../../lib/errors.ts";
import { meantKey } from "./meant-key.ts";
import { parseYamlTrees, type Position, toPlain, type YamlTree } from "../../lib/yaml/yaml-tree.ts";
import { limits } from "../../limits.ts";

/** A job needs four levels; a document is one job or more, a value one of its words. */
const BOUNDS = {
  charsMax: limits.messageBytesMax,
  depthMax: 100,
  documentsMax: limits.submitJobsMax,
  valuesMax: 100 * limits.submitJobsMax,
} as const;

/** One value of a YAML or JSON file with its position. */
export interface Value {
  /** "jobs.yaml:3:5: resources.memory", for messages. */
  readonly at: string;
  readonly kind: "text" | "list" | "map" | "nothing";
  fail(message: string): AppError;
  /** The original text of a scalar: 0644 stays "0644", yes stays "yes". */
  text(): string;
  /** As plain data, with aliases resolved. */
  plain(): unknown;
  list(): readonly Value[];
  /** All entries of a map with free keys. */
  entries(): readonly (readonly [string, Value])[];
  /** The entries of a map whose keys must be known. */
  fields<Key extends string>(known: readonly Key[]): ReadonlyMap<Key, Value>;
}

/** The documents of a file. `file` is its name in errors. */
export function readYaml(content: string, file: string): readonly Value[] {
  const parsed = parseYamlTrees(content, BOUNDS);
  if (parsed.kind === "broken") throw invalid(placeOf(file, parsed.at), parsed.message);
  return parsed.trees.map((tree) => toValue(file, tree, ""));
}

const placeOf = (file: string, { line, column }: Position): string => `${file}:${line}:${column}`;

function toValue(file: string, tree: YamlTree, path: string): Value {
  const where = placeOf(file, tree.at);
  const at = path === "" ? where : `${where}: ${path}`;
  const fail = (message: string) => invalid(at, message);
  const child = (key: string) => (path === "" ? key : `${path}.${key}`);
  const entriesOf = () => {
    if (tree.kind !== "map") throw fail("must be a map of keys and values");
    return tree.entries;
  };
  return {
    at,
    kind: kindOf(tree),
    fail,
    text() {
      if (tree.kind === "scalar" && tree.value !== null) return tree.source;
      throw fail("must be a text or a number");
    },
    plain: () => toPlain(tree),
    list() {
      if (tree.kind !== "list") throw fail("must be a list");
      return tree.items.map((item, index) => toValue(file, item, `${path}[${index}]`));
    },
    entries: () => entriesOf().map(({ key, value }) => [key, toValue(file, value, child(key))]),
    fields(known) {
      return new Map(
        entriesOf().map(({ key, at: place, value }) => {
          const found = known.find((each) => each === key);
          if (found === undefined) {
            const name = path === "" ? placeOf(file, place) : `${placeOf(file, place)}: ${path}`;
            throw invalid(name, `unknown key "${key}"${meantKey(key, known)}`);
          }
          return [found, toValue(file, value, child(found))];
        }),
      );
    },
  };
}

function kindOf(tree: YamlTree): Value["kind"] {
  if (tree.kind !== "scalar") return tree.kind;
  return tree.value === null ? "nothing" : "text";
}
