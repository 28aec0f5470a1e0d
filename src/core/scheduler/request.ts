import type { Where } from "../model/job.ts";
import type { Resources } from "../model/resources.ts";
import type { NodeRecord } from "../state/node-record.ts";
import type { Lane } from "./lane.ts";
import type { Pool } from "./pool.ts";

/** What a task asks for. Tasks that ask for the same thing are planned together. */
export interface Request {
  readonly needs: Resources;
  readonly where: Where;
}

/**
 * All queued tasks that ask for the same thing.
 *
 * `candidates` undefined: any node of the pool may fit, search them all. Otherwise only these
 * can: a full search has failed, and a node is added when it gets room for this request. An empty
 * set means that the class waits, and costs nothing until a node can help it.
 */
export interface RequestClass extends Request {
  readonly key: string;
  readonly pool: Pool;
  readonly lanes: Set<Lane>;
  candidates: Set<NodeRecord> | undefined;
}

/** Sorted, so that the same request always has the same key. */
export function requestKey({ needs, where }: Request): string {
  let key = "";
  for (const name of Object.keys(needs).sort()) key += `${name}=${needs[name]};`;
  return key + whereKey(where);
}

/** Resources that not every node has. */
export const rareNames = (needs: Resources): string[] =>
  Object.keys(needs)
    .filter((name) => name !== "cpu" && name !== "memory")
    .sort();

/** Requests with the same key look for their nodes in the same pool. */
export const poolKey = ({ needs, where }: Request): string => {
  const rare = rareNames(needs);
  return rare.length === 0 ? whereKey(where) : `${rare.join(",")};${whereKey(where)}`;
};

export function whereKey(where: Where): string {
  const { cluster, node, labels } = where;
  if (cluster === undefined && node === undefined && labels === undefined) return "";
  const sorted = Object.entries(labels ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([cluster ?? null, node ?? null, sorted]);
}
