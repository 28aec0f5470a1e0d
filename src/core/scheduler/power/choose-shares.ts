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

/** The energy to split, and the maximum number of shares. */
export interface EnergyToSplit {
  readonly energy: number;
  readonly terms: Omit<EnergyTerms, "wattSeconds">;
  readonly sharesMax: number;
}

/** The energy of a job that is not placed, with the present terms of its group. */
export function energyToSplit(
  { job, progress }: QueuedJobRecord,
  group: GroupRecord,
): EnergyToSplit {
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

/** An upper bound for the shares on edges of one kind: each share is at least the least share, or all that the edge may take. */
export function sharesOfOneKind(
  { energy, terms, sharesMax }: EnergyToSplit,
  greatestShare = energy,
): number {
  const least = Math.max(1, Math.min(terms.leastShare, terms.greatestShare, energy, greatestShare));
  return Math.min(sharesMax, Math.max(1, Math.floor(energy / least)));
}

/**
 * Shares for free nodes of the class; empty: the job waits until one is free. Looks only at nodes without a share, and of equal nodes at no
 * more than could get a share.
 */
export function chooseShares(
  request: RequestClass,
  asked: EnergyToSplit,
  nowMs: number,
): NodeShare[] {
  const { energy, terms, sharesMax } = asked;
  const { pool } = request;
  const free: FreeEdge[] = [];
  for (const alike of pool.freeEdges.kinds()) {
    let left: number | undefined;
    for (const record of alike) {
      const { power } = record.node;
      left ??= sharesOfOneKind(asked, power?.greatestShare);
      if (left === 0) break;
      if (power === undefined || !pool.nodes.fits(request, record)) continue;
      const { watts, changes, greatestShare, tickMs } = power;
      free.push({ record, watts, changes, greatestShare, tickMs });
      left--;
    }
  }
  const shares = splitEnergy(energy, terms, free, { nowMs, sharesMax });
  // Until a node or its power becomes free, further searches cost nothing.
  if (shares.length === 0) pool.narrow(request, new Set());
  return shares.map(({ edge, wattSeconds }) => ({ node: edge.record, wattSeconds }));
}
