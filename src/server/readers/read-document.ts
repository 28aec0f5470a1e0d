import type { Graph } from "../../core/graph/graph.ts";
import { parseGraph, parseGraphText, parseJson } from "../../core/graph/jgf.ts";
import { isRecord } from "../../core/graph/metadata.ts";
import { draftsOf } from "../../core/graph/subsystems/read-subsystems.ts";
import type { CheckedJobspec, JobspecTerms } from "../../core/jobspec/read/parse.ts";
import { checkJobspec } from "../../core/jobspec/read/parse.ts";
import { invalid, readingDocument, unprocessable } from "../../lib/errors.ts";
import { isLongerJson, parseBoundedJson } from "../../lib/bytes/json-size.ts";
import { limits } from "../../limits.ts";

/** A document to be read in another thread. */
export type DocumentTask =
  | { readonly kind: "jobspec"; readonly text: string; readonly terms: JobspecTerms }
  | { readonly kind: "jobspec-body"; readonly body: Uint8Array }
  | { readonly kind: "graph"; readonly text: string }
  | { readonly kind: "registration"; readonly body: Uint8Array }
  | { readonly kind: "subsystem"; readonly text: string }
  | { readonly kind: "subsystem-body"; readonly body: Uint8Array };

export type ReadDocument =
  | {
      readonly kind: "jobspec";
      readonly checked: CheckedJobspec | undefined;
      readonly fields: Readonly<Record<string, unknown>>;
    }
  | {
      readonly kind: "graph";
      readonly graph: Graph | undefined;
      readonly fields: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: "subsystem"; readonly drafts: ReturnType<typeof draftsOf> };

/** Throws an AppError that says what is wrong. */
export function readDocument(task: DocumentTask): ReadDocument {
  switch (task.kind) {
    case "jobspec":
      return { kind: "jobspec", checked: checkJobspec(task.text, task.terms), fields: {} };
    case "jobspec-body":
      return readJobspecBody(task.body);
    case "graph":
      return {
        kind: "graph",
        graph: readingDocument(() => parseGraphText(task.text)),
        fields: {},
      };
    case "registration":
      return readRegistration(task.body);
    case "subsystem":
      return {
        kind: "subsystem",
        drafts: readingDocument(() => draftsOf(parseJson(task.text))),
      };
    case "subsystem-body": {
      const body = parseBody(task.body);
      return { kind: "subsystem", drafts: readingDocument(() => draftsOf(body)) };
    }
  }
}

function readJobspecBody(bytes: Uint8Array): ReadDocument {
  const body = parseBody(bytes);
  const { jobspec, ...fields } = body;
  // The deciding thread receives the fields as objects: copying them takes as long as parsing them.
  if (isLongerJson(fields, limits.jobspecFieldsCharsMax)) {
    const text = `at most ${limits.jobspecFieldsCharsMax} characters of JSON beside the jobspec`;
    throw unprocessable("body", text);
  }
  if (JSON.stringify(fields).includes('"__proto__":')) throw invalid("body", "has a key __proto__");
  if (typeof jobspec !== "string") return { kind: "jobspec", checked: undefined, fields: body };
  return { kind: "jobspec", checked: checkJobspec(jobspec), fields };
}

function readRegistration(bytes: Uint8Array): ReadDocument {
  const body = parseBody(bytes);
  const { graph, ...fields } = body;
  if (!isRecord(graph)) return { kind: "graph", graph: undefined, fields: body };
  const document = wholeDocument(graph);
  return { kind: "graph", graph: readingDocument(() => parseGraph(document)), fields };
}

/** In a thread of its own: any number of values is fine. */
function parseBody(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  const { jsonDepthMax } = limits;
  let body: unknown;
  try {
    body = parseBoundedJson(new TextDecoder().decode(bytes), { jsonDepthMax });
  } catch (error) {
    const why = error instanceof Error ? error.message : "";
    throw invalid("body", `is not JSON: ${why}`);
  }
  if (!isRecord(body)) throw invalid("body", "must be an object");
  return body;
}

/** Also accepts `{"name": "blue", "graph": {"nodes": …}}`. */
export const wholeDocument = (graph: Readonly<Record<string, unknown>>): unknown =>
  graph["graph"] === undefined && graph["nodes"] !== undefined ? { graph } : graph;
