import { decodeRegister, decodeSubmit } from "../../../src/api/rainbow/wire/decode.ts";
import { decodeSubmissions } from "../../../src/api/native/grpc/decode-submit.ts";
import { readYaml } from "../../../src/cli/yaml/yaml-value.ts";
import { parseGraphText } from "../../../src/core/graph/jgf.ts";
import { layOut } from "../../../src/core/graph/layout.ts";
import { readResourceChoice } from "../../../src/core/graph/request/read-request.ts";
import { checkJobspec } from "../../../src/core/jobspec/read/parse.ts";
import { toSubmissions } from "../../../src/core/jobspec/write/to-submissions.ts";
import { toJobSpec } from "../../../src/core/model/job/job-spec.ts";
import { parseExpression } from "../../../src/core/select/expression.ts";
import { parsePriorities } from "../../../src/core/select/priorities.ts";
import { parseYamlTree } from "../../../src/lib/yaml/yaml-tree.ts";

const json = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
};
const bounds = { charsMax: 10_000, depthMax: 64, valuesMax: 5_000 };

/** Readers of input from callers: each may reject with an AppError, and do nothing else. */
export const textTargets: Readonly<Record<string, (text: string) => unknown>> = {
  yaml: (text) => parseYamlTree(text, bounds),
  "yaml of the CLI": (text) => readYaml(text, "file").map((value) => value.plain()),
  jobspec: (text) => {
    const checked = checkJobspec(text);
    if (checked.kind === "valid") Array.from(toSubmissions(checked.jobspec, () => true));
  },
  graph: (text) => layOut(parseGraphText(text), new Map()),
  "select options": (text) => parsePriorities(text),
  expression: (text) =>
    parseExpression(text.slice(0, 900), "filter").evaluate((name) => name.length),
  request: (text) => readResourceChoice(json(text), "request"),
  "job over REST": (text) => toJobSpec(objectOf(text)),
};

/** As schemas pass it: an object. */
const objectOf = (text: string): object => {
  const value = json(text);
  return typeof value === "object" && value !== null
    ? value
    : { command: [text.replaceAll("\0", "")] };
};

export const byteTargets: Readonly<Record<string, (bytes: Uint8Array) => unknown>> = {
  "submission over gRPC": (bytes) => [...decodeSubmissions(bytes).jobs],
  "rainbow's submission": (bytes) => decodeSubmit(bytes),
  "rainbow's registration": (bytes) => decodeRegister(bytes),
};
