import { type EnergyTerms, SHARE_RESOURCE } from "../../core/model/job/energy.ts";
import type { JobSpec } from "../../core/model/job/job.ts";
import { doneOf, type Task } from "../../core/model/job/task.ts";
import type { Power } from "../../core/model/node/power.ts";
import type { Progress } from "../../core/model/progress.ts";
import type { Resources } from "../../core/model/resources.ts";
import type { JobEnergyView, PowerView, ShareView } from "./energy-views.ts";

/** undefined: it is not split by energy. */
export function showEnergy({ energy }: JobSpec, progress: Progress): JobEnergyView | undefined {
  if (energy === undefined) return undefined;
  const { wattSeconds } = energy;
  const { done = 0, placed = 0 } = progress.energy ?? {};
  return { wattSeconds, doneWattSeconds: done, unplacedWattSeconds: wattSeconds - placed };
}

/** The progress of a job by energy, in hundredths, rounded down; a job without energy is done when it has ended. */
export function energyPercent({ wattSeconds }: EnergyTerms, { state, energy }: Progress): number {
  if (wattSeconds === 0) return state === "succeeded" ? 100 : 0;
  const done = energy?.done ?? 0;
  if (done === wattSeconds) return 100;
  return Math.min(9_999, Math.floor((done / wattSeconds) * 10_000)) / 100;
}

export const showShare = (task: Task): ShareView | undefined =>
  task.share === undefined ? undefined : { wattSeconds: task.share, doneWattSeconds: doneOf(task) };

export const showPower = (power: Power, used: Resources): PowerView => ({
  watts: power.watts,
  changes: power.changes ?? [],
  ...(power.greatestShare === undefined ? {} : { greatestShare: power.greatestShare }),
  needsNoCommand: power.isBare === true,
  ...(power.tickMs === undefined ? {} : { tickMs: power.tickMs }),
  shares: used[SHARE_RESOURCE] ?? 0,
  sharesMax: power.site?.shares ?? 1,
  ...(power.site === undefined ? {} : { edges: power.site.edges }),
});
