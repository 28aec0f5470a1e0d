import { TAKES_NOTHING, type TakeCapacity } from "../../core/model/node/take-capacity.ts";
import type { Resources } from "../../core/model/resources.ts";
import { addInto } from "../../core/model/resources.ts";
import { limits } from "../../limits.ts";

/** How much a cluster agent accepts: the runs that can start now, or more, which the scheduler below orders. */
export type TakeRule =
  | { readonly kind: "now" }
  | { readonly kind: "queue"; readonly tasksMax: number };

/** An accepted run. Moments are numbers of the agent's own counter, so that no two are equal. */
export interface TakenRun {
  readonly needs: Resources;
  /** When the executor reported it running; undefined: it is queued below, or has no report yet. */
  readonly runsSince: number | undefined;
  /** When the executor reported its end; undefined: it has not ended. */
  readonly endedAt: number | undefined;
}

/** An observation of the free capacity. */
export interface Seen {
  readonly free: Resources;
  /** The part of the used capacity that runs of this agent used; undefined: not known. */
  readonly own?: Resources | undefined;
  readonly askedAt: number;
}

const CPU = 1_000; // thousandths

/**
 * The capacity that the agent may accept now. An observation is stale as soon as it is made: the agent subtracts accepted runs that it does
 * not include yet, and adds runs that it includes and that have ended since. If it includes the usage of the agent's own runs, the agent
 * adds that and subtracts their present usage: short runs come and go without ever being reported as running.
 */
export function roomOf(
  rule: TakeRule,
  seen: Seen | undefined, // undefined: the scheduler below does not answer
  runs: Iterable<TakenRun>,
): TakeCapacity {
  if (seen === undefined) return TAKES_NOTHING;
  const all = [...runs];
  const active = all.filter(({ endedAt }) => endedAt === undefined);
  const most = limits.takenRunsMax - active.length;
  if (rule.kind === "queue") {
    const queued = active.filter(({ runsSince }) => runsSince === undefined).length;
    return { tasks: clamp(Math.min(rule.tasksMax - queued, most)), free: {} };
  }
  const free: Record<string, number> = { ...seen.free };
  const { own, askedAt } = seen;
  if (own !== undefined) addInto(free, own);
  for (const { needs, runsSince, endedAt } of all) {
    const wasSeen = runsSince !== undefined && runsSince < askedAt;
    const { nodes = 0, ...amounts } = takenOf(needs, seen.free);
    const isActive = endedAt === undefined;
    // No observation shows how many whole nodes the agent's own runs occupy.
    const taken = nodes === 0 ? amounts : { ...amounts, nodes };
    if (isActive && !wasSeen) addInto(free, negated(taken));
    else if (isActive && own !== undefined) addInto(free, negated(amounts));
    if (!isActive && endedAt >= askedAt && wasSeen) {
      addInto(free, own === undefined ? taken : { nodes });
    }
  }
  for (const name in free) free[name] = clamp(free[name] ?? 0);
  return { tasks: clamp(Math.min(tasksIn(free), most)), free };
}

/**
 * The capacity that a run uses of a cluster. A run that names no CPUs uses those of its nodes, or one.
 * A run that names no nodes is on one node, which is then not free as a whole.
 */
function takenOf(needs: Resources, free: Resources): Resources {
  const { cpu: cpuFree = 0, nodes: nodesFree = 0 } = free;
  const { nodes, cpu } = needs;
  const cpuOfNodes = nodes === undefined || nodesFree === 0 ? CPU : (nodes * cpuFree) / nodesFree;
  return {
    ...needs,
    ...(cpu === undefined && "cpu" in free ? { cpu: Math.round(cpuOfNodes) } : {}),
    ...(nodes === undefined && "nodes" in free ? { nodes: 1 } : {}),
  };
}

/** A bound for tasks that request nothing; for others the amounts are the bound. A task may request only a part of a cpu. */
const tasksIn = ({ cpu, nodes = 0 }: Resources): number =>
  cpu === undefined ? nodes : Math.ceil(cpu / CPU);

const negated = (amounts: Resources): Resources =>
  Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, -amount]));

const clamp = (value: number): number => Math.max(0, value);
