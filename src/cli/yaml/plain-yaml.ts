import { invalid } from "../../lib/errors.ts";
import { parseYamlTree, toPlain } from "../../lib/yaml/yaml-tree.ts";
import { limits } from "../../limits.ts";

/** The only value of a YAML or JSON text. `name` is its name in errors, which have line and column. */
export function readPlainYaml(content: string, name: string, depthMax: number): unknown {
  const { messageBytesMax: charsMax, plainValuesMax: valuesMax } = limits;
  const parsed = parseYamlTree(content, { charsMax, depthMax, valuesMax });
  if (parsed.kind === "tree") return toPlain(parsed.tree);
  const { line, column } = parsed.at;
  throw invalid(`${name}:${line}:${column}`, parsed.message);
}
