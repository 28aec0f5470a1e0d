import { choiceOf, graphRequest, type GraphRequest } from "../graph/request/graph-request.ts";
import type { JobTerms, Where } from "../model/job/job.ts";
import type { NodeRecord } from "./nodes/node-record.ts";
import type { Lane } from "./queue/lane.ts";
import type { Pool } from "./nodes/pool.ts";

/** The request of a task. Tasks with equal requests are planned together. */
export type Request = Pick<JobTerms, "needs" | "request" | "select" | "where">;

/** The parts of a job's terms that are its request. */
export const requestOf = ({ needs, request, select, where }: Request): Request => ({
  needs,
  request,
  select,
  where,
});

/**
 * All queued tasks with equal requests.
 *
 * `candidates` undefined: any node of the pool may fit, so the planner searches all. Otherwise the
 * class is narrowed: a full search failed or was costly, and only these nodes and those that the pool
 * lists as freed can fit. An empty set means that the class waits: it costs nothing until a node or a
 * cluster can serve it.
 */
export interface RequestClass extends Request {
  readonly key: string;
  /** Identifies the class; a trial may make a second class with the same key. */
  readonly number: number;
  readonly pool: Pool;
  /** The least that a task takes, in the pool's dimensions. */
  readonly amounts: readonly number[];
  readonly lanes: Set<Lane>;
  /** Its lanes that are parked in the pool. */
  readonly parked: Set<Lane>;
  candidates: Set<NodeRecord> | undefined;
  /** The stamp of the pool's freed nodes on which none of its tasks fits. */
  triedAt: number;
  /** False: no cluster could at the last search, and none has changed since. */
  clustersMayHelp: boolean;
  /** `verify` rejected one of its placements: the planner retries at this time at the latest. */
  retryAtMs: number | undefined;
  /** An external scheduler assigns its tasks: the planner ignores it, even when nodes have free capacity. */
  isExternal: boolean;
}

/** Whether no node and no cluster can serve it now, as far as is known. */
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
  const { kind, cluster, node, labels, containers, workload, port, attach } = where;
  const what = containers === undefined ? workload : "containers";
  const isAny = cluster === undefined && node === undefined && labels === undefined;
  if (isAny && kind === undefined && what === undefined && attach === undefined) return "";
  const sorted = Object.entries(labels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  const asked = [kind ?? null, cluster ?? null, node ?? null, sorted];
  const able = [...(what === undefined ? [] : [what]), ...(attach ? ["attach"] : [])];
  return JSON.stringify([...asked, ...able, ...(port === undefined ? [] : [port])]);
}

/**
 * The request to the graph of a pull cluster. A job with plain amounts goes to a pull cluster only when
 * it names one: otherwise it means nodes with agents. A job that requests a node, labels, containers or
 * a client means nodes, too.
 */
export function clusterRequestOf(asked: Request): GraphRequest | undefined {
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

/**
 * Whether it must be tried again when clusters change: the choice of a node also depends on the state
 * of its cluster.
 */
export const dependsOnClusters = (asked: Request): boolean =>
  asked.request !== undefined || mayGoToClusters(asked);
