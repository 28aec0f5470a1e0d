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

/** The aim of a split: the earliest end, the fewest nodes, or equal shares on many. */
export type Split = (typeof SPLITS)[number];

/** The energy terms of a job, complete. */
export interface EnergyTerms {
  readonly wattSeconds: number;
  /** The smallest share, unless less than this is left. */
  readonly leastShare: number;
  readonly greatestShare: number;
  readonly split: Split;
}

export interface EnergyInput {
  /** Absent: 0, as in protobuf messages. */
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
 * A node with power runs one share at a time, with all of its power. So a share takes a resource of which such a node has one: capacity
 * checks, queue order and explanations then work as for cpus.
 */
export const SHARE_RESOURCE = "power-share";
/** Nodes that need no command have one of these as well. */
export const BARE_SHARE_RESOURCE = "power-share-without-command";

const SHARE_RESOURCES: ReadonlySet<string> = new Set([SHARE_RESOURCE, BARE_SHARE_RESOURCE]);

/** Users and agents cannot name them: they follow from energy and power. */
export const isShareResource = (name: string): boolean => SHARE_RESOURCES.has(name);

// Shared, because a million jobs may have the same needs.
const KNOWN = new Map<Resources, { readonly bare: Resources; readonly run: Resources }>();

/** The needs of a share in addition to those of its command. There are few different `needs`: default ones share one object. */
export function withShareResource(needs: Resources, isBare: boolean): Resources {
  const known = KNOWN.get(needs);
  if (known !== undefined) return isBare ? known.bare : known.run;
  const made = {
    bare: Object.freeze({ ...needs, [SHARE_RESOURCE]: 1, [BARE_SHARE_RESOURCE]: 1 }),
    run: Object.freeze({ ...needs, [SHARE_RESOURCE]: 1 }),
  };
  if (Object.isFrozen(needs)) KNOWN.set(needs, made);
  return isBare ? made.bare : made.run;
}

/** Whether tasks with these needs are shares. */
export const isShareRequest = (needs: Resources): boolean => needs[SHARE_RESOURCE] !== undefined;

/** The part of a share that corresponds to its progress in hundredths of percent; rounded down. */
export function partOf(share: number, hundredths: number): number {
  const whole = Math.floor(share / 10_000);
  return whole * hundredths + Math.floor(((share - whole * 10_000) * hundredths) / 10_000);
}
