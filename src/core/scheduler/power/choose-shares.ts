import { limits } from "../../../limits.ts";
import type { EnergyTerms } from "../../model/job/energy.ts";
import type { GroupRecord } from "../queue/group-record.ts";
import type { QueuedJobRecord } from "../queue/queued-jobs.ts";
import type { NodeRecord } from "../nodes/node-record.ts";
import type { RequestClass } from "../request.ts";
import type { PowerEdge } from "./edge-energy.ts";
import { splitEnergy } from "./split.ts";

/** A share of a job's energy for a node. */
export interface NodeShare {
  readonly node: NodeRecord;
  readonly wattSeconds: number;
}

/** What is to be split, and into how many shares at most. */
export interface SharesAsked {
  readonly energy: number;
  readonly terms: Omit<EnergyTerms, "wattSeconds">;
  readonly sharesMax: number;
}

/** What is not placed of a job, for its group as it is now. */
export function sharesAsked({ job, progress }: QueuedJobRecord, group: GroupRecord): SharesAsked {
  const { energy: terms } = job.spec;
  const { runningTasksMax = Number.POSITIVE_INFINITY } = group.group;
  return {
    energy: (terms?.wattSeconds ?? 0) - (progress.energy?.placed ?? 0),
    terms: terms ?? ALL,
    sharesMax: Math.min(limits.sharesPerSplitMax, runningTasksMax - group.activeTasks),
  };
}

const ALL: EnergyTerms = {
  wattSeconds: 0,
  leastShare: 1,
  greatestShare: limits.energyMax,
  split: "earliest",
};

interface FreeEdge extends PowerEdge {
  readonly record: NodeRecord;
}

/**
 * Shares for nodes of the class that are free now; none: it waits until one is free. Only those are looked at that work at
 * nothing, however many there are.
 */
export function chooseShares(
  request: RequestClass,
  { energy, terms, sharesMax }: SharesAsked,
  nowMs: number,
): NodeShare[] {
  const { pool } = request;
  const free: FreeEdge[] = [];
  for (const record of pool.freeEdges) {
    const { power } = record.node;
    if (power === undefined || power.watts === 0 || !pool.nodes.fits(request, record)) continue;
    const { watts, changes, greatestShare, tickMs } = power;
    free.push({ record, watts, changes, greatestShare, tickMs });
  }
  const shares = splitEnergy(energy, terms, free, { nowMs, sharesMax });
  // From now on it costs nothing until a node gets free, or power.
  if (shares.length === 0) pool.narrow(request, new Set());
  return shares.map(({ edge, wattSeconds }) => ({ node: edge.record, wattSeconds }));
}
