import type { MachineFacts } from "../../../core/graph/facts.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";

/** "0-3,8" as a list of numbers. */
export function parseIdset(text: string): readonly number[] {
  const ids: number[] = [];
  for (const part of text.replaceAll(/[[\]\s]/g, "").split(",")) {
    if (part === "") continue;
    const [, first, last = first] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(part) ?? [];
    if (first === undefined) throw odd(`"${text}" is not a set of numbers, like 0-3,7`);
    if (ids.length + Number(last) - Number(first) > limits.graphVerticesMax) throw odd("too many");
    for (let id = Number(first); id <= Number(last); id += 1) ids.push(id);
  }
  return ids;
}

/** "blue[0-2,07],red" as names; numbers in brackets keep their zeros. */
export function parseHostlist(text: string): readonly string[] {
  const hosts: string[] = [];
  for (const [, prefix = "", ranges, suffix = ""] of text.matchAll(HOSTS)) {
    if (ranges === undefined) hosts.push(prefix);
    else for (const number of expand(ranges)) hosts.push(`${prefix}${number}${suffix}`);
    if (hosts.length > limits.graphVerticesMax) throw odd("too many hosts");
  }
  return hosts;
}

const HOSTS = /([^,[\]\s]+)(?:\[([^\]]*)\]([^,[\]\s]*))?/g;

function expand(ranges: string): readonly string[] {
  return ranges.split(",").flatMap((range) => {
    const [first = "", last = first] = range.split("-");
    return parseIdset(`${Number(first)}-${Number(last)}`).map((number) =>
      String(number).padStart(first.length, "0"),
    );
  });
}

interface Execution {
  readonly R_lite?: readonly {
    readonly rank?: unknown;
    readonly children?: Readonly<Record<string, unknown>>;
  }[];
  readonly nodelist?: readonly unknown[];
}

/** The nodes of a resource set (RFC 20, version 1): each rank is one, in the order of ranks. */
export function nodesOf(text: string): readonly MachineFacts[] {
  let execution: Execution;
  try {
    const set = JSON.parse(text) as { readonly execution?: Execution } | null;
    execution = set?.execution ?? {};
  } catch (cause) {
    throw new AppError("unavailable", "flux resource R does not answer JSON", { cause });
  }
  const ranks = (execution.R_lite ?? []).flatMap(({ rank, children = {} }) => {
    const [cores, gpus] = [countOf(children["core"]), countOf(children["gpu"])];
    return parseIdset(textOf(rank)).map((number) => ({ number, cores, gpus }));
  });
  const names = (execution.nodelist ?? []).flatMap((hosts) => parseHostlist(textOf(hosts)));
  const isOneEach = new Set(names).size === ranks.length; // in tests several brokers share a host
  return ranks
    .toSorted((a, b) => a.number - b.number)
    .map(({ number, cores, gpus }, at) => ({
      name: isOneEach ? (names[at] ?? `rank${number}`) : `rank${number}`,
      cores,
      gpus,
      sockets: 0,
      numa: 0,
      memoryBytes: 0,
      metadata: { rank: number },
    }));
}

const countOf = (idset: unknown): number =>
  idset === undefined ? 0 : parseIdset(textOf(idset)).length;

/** A set of one may be a number. */
const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "?";

const odd = (message: string): AppError =>
  new AppError("unavailable", `flux resource R: ${message}`);
