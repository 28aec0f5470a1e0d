import { TAKES_NOTHING, type TakeCapacity } from "../../core/model/node/take-capacity.ts";
import type { Resources } from "../../core/model/resources.ts";
import { addInto } from "../../core/model/resources.ts";
import { limits } from "../../limits.ts";

/** How much a cluster agent takes: what can start now, or more, which the scheduler below orders. */
export type TakeRule =
  | { readonly kind: "now" }
  | { readonly kind: "queue"; readonly tasksMax: number };

/** A run that was taken. Moments are numbers of the agent's own count: each is told from the next. */
export interface TakenRun {
  readonly needs: Resources;
  /** When it was heard to run; undefined: it waits below, or nothing was heard yet. */
  readonly runsSince: number | undefined;
  /** When it was heard to have ended; undefined: it has not. */
  readonly endedAt: number | undefined;
}

/** What was free when it was asked for. */
export interface Seen {
  readonly free: Resources;
  /** What runs of this agent used of what was not; undefined: not known. */
  readonly own?: Resources | undefined;
  readonly askedAt: number;
}

const CPU = 1_000; // thousandths

/**
 * What may be taken now. An observation is old as soon as it is made: what was taken and was not yet
 * seen as used is subtracted from it, and what was used then and has ended since is added. Where it is known
 * what runs of this agent used then, that is added, and what they use now subtracted: short ones come and go
 * without ever being heard to run.
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
    // How many whole nodes its own runs keep from being free nobody tells.
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
 * What a run takes of a cluster. One that names no cpus has some all the same: those of its nodes, or
 * one. One that names no nodes is on one of them, which is then not free as a whole.
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

/**
 * A bound for tasks that ask for nothing; for others the amounts are one. A part of a cpu may be all
 * that a task wants.
 */
const tasksIn = ({ cpu, nodes = 0 }: Resources): number =>
  cpu === undefined ? nodes : Math.ceil(cpu / CPU);

const negated = (amounts: Resources): Resources =>
  Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, -amount]));

const clamp = (value: number): number => Math.max(0, value);
