import type { Graph } from "../../core/graph/graph.ts";
import { parseGraph, parseGraphText } from "../../core/graph/jgf.ts";
import { isRecord } from "../../core/graph/metadata.ts";
import type { CheckedJobspec } from "../../core/jobspec/parse.ts";
import { checkJobspec } from "../../core/jobspec/parse.ts";
import { invalid } from "../../lib/errors.ts";

/** What is read elsewhere. */
export type DocumentTask =
  | { readonly kind: "jobspec"; readonly text: string }
  | { readonly kind: "graph"; readonly text: string }
  | { readonly kind: "registration"; readonly body: Uint8Array };

export type ReadDocument =
  | { readonly kind: "jobspec"; readonly checked: CheckedJobspec }
  | {
      readonly kind: "graph";
      readonly graph: Graph | undefined;
      readonly fields: Readonly<Record<string, unknown>>;
    };

/** Throws AppError that tells what is wrong. */
export function readDocument(task: DocumentTask): ReadDocument {
  switch (task.kind) {
    case "jobspec":
      return { kind: "jobspec", checked: checkJobspec(task.text) };
    case "graph":
      return { kind: "graph", graph: parseGraphText(task.text), fields: {} };
    case "registration":
      return readRegistration(task.body);
  }
}

function readRegistration(bytes: Uint8Array): ReadDocument {
  const body = parseBody(bytes);
  if (!isRecord(body)) throw invalid("body", "must be an object");
  const { graph, ...fields } = body;
  if (!isRecord(graph)) return { kind: "graph", graph: undefined, fields: body };
  return { kind: "graph", graph: parseGraph(wholeDocument(graph)), fields };
}

function parseBody(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch (error) {
    const why = error instanceof Error ? error.message : "";
    throw invalid("body", `is not JSON: ${why}`);
  }
}

/** `{"name": "blue", "graph": {"nodes": …}}` means what it says as well. */
export const wholeDocument = (graph: Readonly<Record<string, unknown>>): unknown =>
  graph["graph"] === undefined && graph["nodes"] !== undefined ? { graph } : graph;
