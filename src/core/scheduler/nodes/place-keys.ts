import type { Node } from "../../model/node/node.ts";
import { rareNames, type Request } from "../request.ts";

/**
 * Pools and nodes are filed under keys, so that a new pool looks only at nodes it could hold and a
 * changed node only at pools that could hold it. A pool has one key, by the narrowest thing that it
 * asks for; a node has one for each thing that could be asked of it.
 */
export function poolPlaceKey({ needs, request, where }: Request): string {
  if (where.node !== undefined) return `node ${where.node}`;
  const [label] = Object.entries(where.labels ?? {});
  if (label !== undefined) return labelKey(label);
  const [rare] = request === undefined ? rareNames(needs) : [];
  if (rare !== undefined) return `has ${rare}`;
  return where.cluster === undefined ? ANY_NODE : clusterKey(where.cluster);
}

/** Every node has it. */
const ANY_NODE = "any";

export const clusterKey = (cluster: string): string => `cluster ${cluster}`;

const labelKey = ([name, value]: readonly [string, string]): string =>
  JSON.stringify([name, value]);

export const nodePlaceKeys = ({ id, cluster, labels, capacity }: Node): readonly string[] => [
  ANY_NODE,
  `node ${id}`,
  clusterKey(cluster),
  ...rareNames(capacity).map((name) => `has ${name}`),
  ...Object.entries(labels).map(labelKey),
];
