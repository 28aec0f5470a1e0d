import { invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { BARE_PLACE, isPlaceName, SHARE_PLACE } from "../job/energy.ts";
import { whole } from "../job/whole.ts";
import { checkAmountNames, type Resources } from "../resources.ts";

/**
 * What a node has for shares of jobs with energy: docs/design/power.md. An edge works at one share at a time, with all of its
 * power; a node that stands for a site works at several.
 */
export interface Power {
  /** Now, as its agent last told. */
  readonly watts: number;
  /** What its agent expects, by rising time; absent: nothing. */
  readonly changes?: readonly PowerChange[];
  /** It takes no larger share; absent: any. */
  readonly greatestShare?: number;
  /** It looks at its shares only so often: it begins one at a tick, and ends it at a later one. Absent: at once. */
  readonly tickMs?: number;
  /** It also takes shares of jobs that have nothing to run. */
  readonly isBare?: true;
  /** Since when it has none; absent: it has some. */
  readonly noneSinceMs?: number;
  /** It stands for the edges of a site below, and takes nothing but shares; absent: it is an edge itself. */
  readonly site?: SiteEdges;
}

export interface SiteEdges {
  /** How many of them have power. */
  readonly edges: number;
  /** How many shares it takes at once, those that it has included. */
  readonly shares: number;
  /** What the largest of them offers, resource by resource. */
  readonly capacity: Resources;
}

export interface PowerChange {
  readonly atMs: number;
  readonly watts: number;
}

const WATTS = { minimum: 0, maximum: limits.wattsMax } as const;
const TICK = { minimum: 1, maximum: limits.powerTickMsMax } as const;
const EDGES = { minimum: 0, maximum: limits.nodesMax } as const;
const SHARES = { minimum: 1, maximum: limits.siteSharesMax } as const;
const AMOUNT = { minimum: 0, maximum: limits.siteAmountMax } as const;

/** Agents are not trusted. */
export function checkPower(power: Power, field: string): Power {
  const { changes = [], greatestShare, tickMs, site } = power;
  whole(power.watts, `${field}.watts`, WATTS);
  if (site !== undefined) checkSite(site, `${field}.site`);
  if (tickMs !== undefined) whole(tickMs, `${field}.tickMs`, TICK);
  if (greatestShare !== undefined) {
    const rule = { minimum: 1, maximum: limits.energyMax };
    whole(greatestShare, `${field}.greatestShare`, rule);
  }
  if (changes.length > limits.powerChangesMax) {
    const most = limits.powerChangesMax;
    throw invalid(`${field}.changes`, `at most ${most} changes, not ${changes.length}`);
  }
  let lastMs = 0;
  for (const [at, { atMs, watts }] of changes.entries()) {
    whole(watts, `${field}.changes[${at}].watts`, WATTS);
    const rule = { minimum: lastMs, maximum: Number.MAX_SAFE_INTEGER };
    lastMs = whole(atMs, `${field}.changes[${at}].atMs`, rule);
  }
  return power;
}

function checkSite({ edges, shares, capacity }: SiteEdges, field: string): void {
  whole(edges, `${field}.edges`, EDGES);
  whole(shares, `${field}.shares`, SHARES);
  const names = Object.keys(capacity);
  if (names.length > limits.resourceNamesMax) {
    throw invalid(`${field}.capacity`, `at most ${limits.resourceNamesMax} names`);
  }
  checkAmountNames(capacity, `${field}.capacity`);
  for (const name of names) whole(capacity[name] ?? 0, `${field}.capacity.${name}`, AMOUNT);
}

/** As the node's row has it: `known` is what it had before. */
export function toldPower(told: Power, known: Power | undefined, nowMs: number): Power {
  return told.watts > 0 ? told : { ...told, noneSinceMs: known?.noneSinceMs ?? nowMs };
}

/** The node's capacity with a place for a share, if it has power. Of a site: what as many shares may request as it takes. */
export function withPower(capacity: Resources, power: Power | undefined): Resources {
  if (power?.site !== undefined) return placesOf(power.site, power.isBare, power.site.shares);
  const told = Object.keys(capacity).some(isPlaceName)
    ? Object.fromEntries(Object.entries(capacity).filter(([name]) => !isPlaceName(name)))
    : capacity;
  if (power === undefined) return told;
  return { ...told, [SHARE_PLACE]: 1, ...(power.isBare === true ? { [BARE_PLACE]: 1 } : {}) };
}

/** What one task may take of the node at most: of a site no more than its largest edge offers. */
export const offeredToOne = ({
  capacity,
  power,
}: {
  readonly capacity: Resources;
  readonly power?: Power;
}): Resources => (power?.site === undefined ? capacity : placesOf(power.site, power.isBare, 1));

function placesOf({ capacity }: SiteEdges, isBare: true | undefined, shares: number): Resources {
  const places: Record<string, number> = { [SHARE_PLACE]: shares };
  if (isBare === true) places[BARE_PLACE] = shares;
  for (const [name, amount] of Object.entries(capacity)) {
    if (!isPlaceName(name)) places[name] = amount * shares;
  }
  return places;
}
