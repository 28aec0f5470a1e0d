import { choiceOf, graphRequest, type GraphRequest } from "../graph/request/graph-request.ts";
import type { JobTerms, Where } from "../model/job/job.ts";
import type { NodeRecord } from "./nodes/node-record.ts";
import type { Lane } from "./queue/lane.ts";
import type { Pool } from "./nodes/pool.ts";

/** The request of a task. Tasks with equal requests are planned together. */
export type Request = Pick<JobTerms, "needs" | "request" | "select" | "where">;

/** The parts of a job's terms that say what its tasks ask for. */
export const requestOf = ({ needs, request, select, where }: Request): Request => ({
  needs,
  request,
  select,
  where,
});

/**
 * All queued tasks that ask for the same thing.
 *
 * `candidates` undefined: any node of the pool may fit, search them all. Otherwise the class is
 * narrowed: a full search has failed or was costly, and only these nodes and those that the pool
 * lists as freed can fit. An empty set means that the class waits: it costs nothing until a node or
 * a cluster can help it.
 */
export interface RequestClass extends Request {
  readonly key: string;
  /** Classes are told apart by it; a trial may make a second one with the same key. */
  readonly number: number;
  readonly pool: Pool;
  /** What a task takes at least of the pool's dimensions. */
  readonly amounts: readonly number[];
  readonly lanes: Set<Lane>;
  /** Those of its lanes that wait in the pool. */
  readonly parked: Set<Lane>;
  candidates: Set<NodeRecord> | undefined;
  /** The pool's freed nodes (by their stamp) that none of its tasks fits on. */
  triedAt: number;
  /** False: none could when it was last looked at, and no cluster has changed since. */
  clustersMayHelp: boolean;
  /** The judge rejected one of its placements: when the planner tries again at the latest. */
  retryAtMs: number | undefined;
  /** An external scheduler assigns its tasks: the planner ignores it, even when nodes have free capacity. */
  isExternal: boolean;
}

/** Whether neither a node nor a cluster can help it now, as far as is known. */
export const isWaiting = ({ candidates, clustersMayHelp }: RequestClass): boolean =>
  candidates?.size === 0 && !clustersMayHelp;

/** Sorted, so that the same request always has the same key. */
export function requestKey({ needs, request, select, where }: Request): string {
  let key = "";
  if (request === undefined) {
    for (const name of Object.keys(needs).sort()) key += `${name}=${needs[name]};`;
  } else {
    key = `${graphRequest(request).key};`;
  }
  if (select !== undefined) key += `${JSON.stringify(select)};`;
  return key + whereKey(where);
}

function whereKey(where: Where): string {
  const { kind, cluster, node, labels, containers, workload, attach } = where;
  const what = containers === undefined ? workload : "containers";
  const isAny = cluster === undefined && node === undefined && labels === undefined;
  if (isAny && kind === undefined && what === undefined && attach === undefined) return "";
  const sorted = Object.entries(labels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const asked = [kind ?? null, cluster ?? null, node ?? null, sorted];
  const able = [...(what === undefined ? [] : [what]), ...(attach ? ["attach"] : [])];
  return JSON.stringify([...asked, ...able]);
}

/**
 * What is asked of the graph of a cluster that pulls. A job that asks for nothing but amounts goes
 * to one only when it says so: nodes with agents are meant otherwise. One that asks for a node, for
 * labels, for containers or for a client means nodes, too.
 */
export function askedOfClusters(asked: Request): GraphRequest | undefined {
  if (!mayGoToClusters(asked)) return undefined;
  return graphRequest(asked.request ?? choiceOf(asked.needs));
}

export const mayGoToClusters = ({ request, where }: Request): boolean =>
  where.kind !== "managed" &&
  where.containers === undefined &&
  where.attach === undefined &&
  where.node === undefined &&
  where.labels === undefined &&
  (request !== undefined || where.cluster !== undefined || where.kind !== undefined);

/** Whether it must be looked at again when clusters change: also nodes are chosen by what theirs says. */
export const looksAtClusters = (asked: Request): boolean =>
  asked.request !== undefined || mayGoToClusters(asked);
