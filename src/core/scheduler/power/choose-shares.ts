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

/** More edges of one kind than this can get no share: each gets at least the least share, or all that it may take. */
export function sharesOfOneKind(
  { energy, terms, sharesMax }: SharesAsked,
  greatestShare = energy,
): number {
  const least = Math.max(1, Math.min(terms.leastShare, terms.greatestShare, energy, greatestShare));
  return Math.min(sharesMax, Math.max(1, Math.floor(energy / least)));
}

/**
 * Shares for nodes of the class that are free now; none: it waits until one is free. Only those are looked at that work at
 * nothing, and of those that are alike no more than could get a share.
 */
export function chooseShares(
  request: RequestClass,
  asked: SharesAsked,
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
  // From now on it costs nothing until a node gets free, or power.
  if (shares.length === 0) pool.narrow(request, new Set());
  return shares.map(({ edge, wattSeconds }) => ({ node: edge.record, wattSeconds }));
}
