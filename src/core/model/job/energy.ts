import { unprocessable } from "../../../lib/errors.ts";
import type { Rule } from "../../../lib/rules/rules.ts";
import { limits } from "../../../limits.ts";
import type { Resources } from "../resources.ts";
import { oneOf } from "../one-of.ts";
import { whole } from "./whole.ts";

/*
 * Energy in whole watt-seconds, up to 2^53 - 1: sums are exact. A job with energy is split into shares, each a task on a
 * node with power: docs/design/power.md.
 */

export const SPLITS = ["earliest", "fewest", "spread"] as const;

/** How shares are made: so that the job ends first, on few nodes, or equal ones on many. */
export type Split = (typeof SPLITS)[number];

/** What a job says of its energy, complete. */
export interface EnergyTerms {
  readonly wattSeconds: number;
  /** No share is smaller, unless less than this is left. */
  readonly leastShare: number;
  readonly greatestShare: number;
  readonly split: Split;
}

export interface EnergyInput {
  /** Absent: 0, as messages have it. */
  readonly wattSeconds?: number | undefined;
  readonly leastShare?: number | undefined;
  readonly greatestShare?: number | undefined;
  readonly split?: string | undefined;
}

export const ENERGY_RULES = {
  wattSeconds: { minimum: 0, maximum: limits.energyMax },
  leastShare: { minimum: 1, maximum: limits.energyMax },
  greatestShare: { minimum: 1, maximum: limits.energyMax },
  split: { enum: SPLITS },
} as const satisfies Readonly<Record<string, Rule>>;

export function toEnergy(input: EnergyInput | undefined): EnergyTerms | undefined {
  if (input === undefined) return undefined;
  const { leastShare, greatestShare } = input;
  const wattSeconds = whole(input.wattSeconds ?? 0, "energy.wattSeconds", ENERGY_RULES.wattSeconds);
  const all = Math.max(1, wattSeconds);
  const most =
    greatestShare === undefined
      ? all
      : whole(greatestShare, "energy.greatestShare", ENERGY_RULES.greatestShare);
  const sharesMin = Math.ceil(all / most);
  if (sharesMin > limits.sharesPerJobMax) {
    const least = Math.ceil(all / limits.sharesPerJobMax);
    const why = `makes ${sharesMin} shares; at most ${limits.sharesPerJobMax}`;
    throw unprocessable("energy.greatestShare", `${why}, so at least ${least} watt-seconds each`);
  }
  const usual = Math.min(most, Math.ceil(all / limits.sharesDefault));
  const range = { minimum: 1, maximum: Math.min(most, all) };
  if (leastShare !== undefined && leastShare > range.maximum) {
    whole(leastShare, "energy.leastShare", ENERGY_RULES.leastShare);
    const problem = `must be a whole number from 1 to ${range.maximum}, not ${leastShare}`;
    throw unprocessable("energy.leastShare", problem);
  }
  const least = whole(leastShare ?? usual, "energy.leastShare", range);
  const split = oneOf(input.split ?? "earliest", "energy.split", SPLITS);
  return { wattSeconds, leastShare: least, greatestShare: most, split };
}

/**
 * A node with power works at one share at a time, with all of its power: the place for it is a resource like others, of
 * which it has one. So whoever asks whether a node is free, who gets it next and why a job waits finds out as for cpus.
 */
export const SHARE_PLACE = "power-share";
/** And nodes that need no command have one of these beside it. */
export const BARE_PLACE = "power-share-without-command";

const PLACES: ReadonlySet<string> = new Set([SHARE_PLACE, BARE_PLACE]);

/** Neither asked for nor told by anybody: they follow from energy and power. */
export const isPlaceName = (name: string): boolean => PLACES.has(name);

// Shared, as a million jobs may wait for the same.
const KNOWN = new Map<Resources, { readonly bare: Resources; readonly run: Resources }>();

/** What a share takes beside what its command requests. `needs` are few: of those that say the usual thing one. */
export function withPlace(needs: Resources, isBare: boolean): Resources {
  const known = KNOWN.get(needs);
  if (known !== undefined) return isBare ? known.bare : known.run;
  const made = {
    bare: Object.freeze({ ...needs, [SHARE_PLACE]: 1, [BARE_PLACE]: 1 }),
    run: Object.freeze({ ...needs, [SHARE_PLACE]: 1 }),
  };
  if (Object.isFrozen(needs)) KNOWN.set(needs, made);
  return isBare ? made.bare : made.run;
}

/** Whether tasks that request this are shares. */
export const isShareRequest = (needs: Resources): boolean => needs[SHARE_PLACE] !== undefined;

/** That much of a share, by its progress in hundredths of percent; never more than was done. */
export function partOf(share: number, hundredths: number): number {
  const whole = Math.floor(share / 10_000);
  return whole * hundredths + Math.floor(((share - whole * 10_000) * hundredths) / 10_000);
}
