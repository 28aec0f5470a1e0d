import { limits } from "../../../limits.ts";
import { addInto, dominantShare } from "../../model/resources.ts";
import type { Pool } from "../../scheduler/nodes/pool.ts";
import type { RequestClass } from "../../scheduler/request.ts";
import type { State } from "../state.ts";

/** The number of pools with nodes and without classes that the fleet may retain. */
const IDLE_POOLS_MAX = 8;

/** Every lane has exactly one entry, and every entry a lane. */
export function checkLanes({ groups, fleet }: State): string[] {
  const wrong: string[] = [];
  const lanes = [...groups.values()].flatMap((group) => [...group.lanes.values()]);
  const ready = [...groups.values()].flatMap((group) => [...group.ready]);
  const parked = [...fleet.pools].flatMap((pool) => [...pool.waiting.entries()]);
  for (const { entry, request, group, priority } of lanes) {
    const name = `the lane ${group.group.id} ${priority} ${request.key}`;
    if (entry === undefined) wrong.push(`${name} has no entry`);
    else if (!(entry.isParked ? parked : ready).includes(entry))
      wrong.push(`${name} is ${entry.isParked ? "parked" : "ready"} and not found there`);
  }
  if (ready.length + parked.length !== lanes.length)
    wrong.push(`${ready.length} ready and ${parked.length} parked entries, ${lanes.length} lanes`);
  return wrong;
}

export function checkClasses(state: State): string[] {
  const wrong: string[] = [];
  const byPool = new Map<Pool, number>();
  for (const request of state.queue.classes()) {
    const { key, lanes, parked, candidates, pool } = request;
    byPool.set(pool, (byPool.get(pool) ?? 0) + 1);
    if (lanes.size === 0) wrong.push(`the class ${key} has no lanes`);
    const known = [...lanes].filter(({ entry }) => entry?.isParked === true);
    if (known.length !== parked.size || !known.every((lane) => parked.has(lane)))
      wrong.push(`the class ${key} counts ${parked.size} parked lanes, has ${known.length}`);
    if (parked.size > 0 && candidates === undefined)
      wrong.push(`the class ${key} has parked lanes and may fit anywhere`);
    const isNarrowed = [...pool.narrowed].includes(request);
    if (isNarrowed !== (candidates !== undefined))
      wrong.push(`the class ${key} is ${isNarrowed ? "" : "not "}among the narrowed`);
    wrong.push(...checkMissed(state, request));
  }
  for (const pool of state.fleet.pools) {
    if (pool.classes !== (byPool.get(pool) ?? 0))
      wrong.push(`the pool ${pool.key} counts ${pool.classes} classes`);
  }
  const idle = [...state.fleet.pools].filter(({ classes }) => classes === 0);
  const filled = idle.filter(({ nodes }) => nodes.size > 0);
  if (filled.length > IDLE_POOLS_MAX || idle.length > IDLE_POOLS_MAX + limits.emptyPoolsMax)
    wrong.push(`${state.fleet.poolCount} pools for ${state.queue.classCount} classes`);
  return wrong;
}

/** A narrowed class searches few nodes: it must know every node with free capacity for it. */
function checkMissed({ fleet }: State, { request, candidates, ...asked }: RequestClass): string[] {
  // The states of clusters may have excluded nodes with free capacity.
  if (candidates === undefined || request !== undefined) return [];
  const { pool, retryAtMs, isExternal } = asked;
  if (retryAtMs !== undefined || isExternal) return []; // `verify` refused, or an external scheduler assigns
  return [...pool.nodes.all()]
    .filter((record) => pool.nodes.fits({ request, ...asked }, record))
    .filter((record) => !candidates.has(record) && !pool.freed.has(record))
    .filter((record) => !fleet.isImproved(record))
    .map(({ node }) => `the class ${asked.key} does not know that ${node.id} has room for it`);
}

/** The groups with ready lanes that may run more, and their ranks. */
export function checkGroupOrder({ groups, fleet, queue }: State): string[] {
  queue.order.refresh();
  const want = [...groups.values()]
    .filter(({ ready }) => ready.size > 0)
    .filter(({ group, activeTasks }) => activeTasks < (group.runningTasksMax ?? Infinity))
    .filter(({ group }) => group.pausedBy === undefined)
    .map(({ group, used, pass }) => {
      return { id: group.id, share: dominantShare(used, fleet.capacity) / group.weight, pass };
    })
    .sort((a, b) => {
      if (a.share !== b.share) return a.share < b.share ? -1 : 1;
      return a.pass === b.pass ? (a.id < b.id ? -1 : 1) : a.pass - b.pass;
    })
    .map(({ id, share, pass }) => `${id} ${share} ${pass}`);
  const known = [...queue.order.ready].map(({ group, share, pass }) =>
    [group.group.id, share, pass].join(" "),
  );
  return known.join() === want.join()
    ? []
    : [`the groups are ranked ${known.join()}, not ${want.join()}`];
}

export function checkFleet({ nodes, fleet, filters }: State): string[] {
  const wrong: string[] = [];
  const capacity: Record<string, number> = {};
  for (const record of nodes.values()) {
    const { node } = record;
    const takes = filters.isReady(record);
    if (takes) addInto(capacity, node.capacity);
    if (!fleet.inCluster(node.cluster).has(record))
      wrong.push(`node ${node.id} is not among those of ${node.cluster}`);
    for (const pool of fleet.pools) {
      const belongs = takes && pool.allows(record);
      if (pool.nodes.has(record) !== belongs)
        wrong.push(`node ${node.id} is ${belongs ? "not " : ""}in the pool ${pool.key}`);
      if (pool.byCluster().get(node.cluster)?.levels.has(record) !== belongs && belongs)
        wrong.push(`node ${node.id} is not in its cluster in the pool ${pool.key}`);
    }
  }
  const names = new Set([...Object.keys(capacity), ...Object.keys(fleet.capacity)]);
  for (const name of names) {
    if ((capacity[name] ?? 0) !== (fleet.capacity[name] ?? 0))
      wrong.push(`the fleet has ${fleet.capacity[name]} ${name}, its nodes ${capacity[name]}`);
  }
  return wrong;
}
