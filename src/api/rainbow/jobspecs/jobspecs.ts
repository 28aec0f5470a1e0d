import { graphRequest, needsOf } from "../../../core/graph/request/graph-request.ts";
import type { ResourceChoice, ResourceRequest } from "../../../core/graph/request/request.ts";
import {
  type RequestedPart,
  requestedParts,
  parametersOf,
} from "../../../core/jobspec/requested-parts.ts";
import type { Jobspec, Plain } from "../../../core/jobspec/model.ts";
import { parseJobspec } from "../../../core/jobspec/read/parse.ts";
import { limits } from "../../../limits.ts";

/** A parsed jobspec: its requests to a cluster, part by part; none: any cluster will do. */
export interface ReadJobspec {
  readonly jobspec: Jobspec;
  readonly parts: readonly RequestedPart[];
  /** The request of its largest part; undefined: it requests nothing. */
  readonly request: ResourceChoice | undefined;
  /** Its own parameters for the choice of a cluster. */
  readonly parameters: Plain;
}

/** Synchronous if the text is short or cached: clients submit thousands one by one. */
export type ReadText = (text: string) => ReadJobspec | Promise<ReadJobspec>;

/** Throws an AppError with all problems. */
export const readJobspec = (text: string): ReadJobspec =>
  lookInto(parseJobspec(text, { mayLackTasks: true }));

function lookInto(jobspec: Jobspec): ReadJobspec {
  const parts = requestedParts(jobspec)
    .map(({ name, resources, ofNodes }) => ({
      name,
      resources: resources.map(withoutEmptySlots),
      ofNodes: ofNodes.map(withoutEmptySlots),
    }))
    .filter(({ resources }) => resources.some((trees) => trees.length > 0));
  return { jobspec, parts, request: largestOf(parts), parameters: parametersOf(jobspec) };
}

/** Go clients of spring 2024 write an empty slot when the user names no number of tasks: it requests nothing of its node. */
const withoutEmptySlots = (trees: readonly ResourceRequest[]): readonly ResourceRequest[] =>
  trees.flatMap((tree) => {
    const inside = withoutEmptySlots(tree.with);
    const isEmpty = tree.type === "slot" && inside.length === 0 && tree.requires.length === 0;
    return isEmpty ? [] : [{ ...tree, with: inside }];
  });

/**
 * Tasks of a jobspec may run one after another, so that the whole needs no more at once than its largest part. The program that runs them
 * decides how they share it.
 */
function largestOf(parts: readonly RequestedPart[]): ResourceChoice | undefined {
  let largest: { readonly resources: ResourceChoice; readonly cpu: number } | undefined;
  for (const { resources } of parts) {
    const cpu = needsOf(graphRequest(resources))["cpu"] ?? 0;
    if (largest === undefined || cpu > largest.cpu) largest = { resources, cpu };
  }
  return largest?.resources;
}

/**
 * Parses texts, and caches the most recent ones: each is parsed for satisfy, on submission and when a cluster receives it, and users submit
 * the same ones again.
 */
export function createJobspecReader(readLong: (text: string) => Promise<Jobspec>): ReadText {
  const known = new Map<string, ReadJobspec>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) {
      known.delete(text);
      known.set(text, found);
      return found;
    }
    const keep = (read: ReadJobspec): ReadJobspec => {
      if (text.length <= limits.knownJobspecCharsMax) {
        known.set(text, read);
        const [oldest] = known.keys();
        if (known.size > limits.knownJobspecsMax && oldest !== undefined) known.delete(oldest);
      }
      return read;
    };
    if (text.length <= limits.jobspecInlineCharsMax) return keep(readJobspec(text));
    return readLong(text).then((jobspec) => keep(lookInto(jobspec)));
  };
}
