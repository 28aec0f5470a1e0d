import { invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { BARE_SHARE_RESOURCE, isShareResource, SHARE_RESOURCE } from "../job/energy.ts";
import { whole } from "../job/whole.ts";
import { checkAmountNames, type Resources } from "../resources.ts";

/**
 * The power of a node for shares of jobs with energy: docs/design/power.md. An edge runs one share at a time, with all of its power; a node
 * that represents a site runs several.
 */
export interface Power {
  /** At present, as its agent last reported. */
  readonly watts: number;
  /** Expected changes, by ascending time; absent: none. */
  readonly changes?: readonly PowerChange[];
  /** The largest share that it accepts; absent: any. */
  readonly greatestShare?: number;
  /** The period at which it looks at its shares: it begins one at a tick, and ends it at a later one. Absent: at once. */
  readonly tickMs?: number;
  /** It also accepts shares of jobs that have no command. */
  readonly isBare?: true;
  /** The time since which it has none; absent: it has some. */
  readonly noneSinceMs?: number;
  /** It represents the edges of a site, and accepts only shares; absent: it is an edge itself. */
  readonly site?: SiteEdges;
}

export interface SiteEdges {
  /** The number of edges with power. */
  readonly edges: number;
  /** The number of shares that it accepts at once, present ones included. */
  readonly shares: number;
  /** The largest offer of an edge, per resource. */
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

/** The value for the node's row: `known` is the one before. */
export function reportedPower(reported: Power, known: Power | undefined, nowMs: number): Power {
  return reported.watts > 0 ? reported : { ...reported, noneSinceMs: known?.noneSinceMs ?? nowMs };
}

/** The node's capacity with one share added, if it has power. For a site: the capacity for as many shares as it accepts. */
export function withPower(capacity: Resources, power: Power | undefined): Resources {
  if (power?.site !== undefined) return placesOf(power.site, power.isBare, power.site.shares);
  const reported = Object.keys(capacity).some(isShareResource)
    ? Object.fromEntries(Object.entries(capacity).filter(([name]) => !isShareResource(name)))
    : capacity;
  if (power === undefined) return reported;
  return {
    ...reported,
    [SHARE_RESOURCE]: 1,
    ...(power.isBare === true ? { [BARE_SHARE_RESOURCE]: 1 } : {}),
  };
}

/** The most that one task may take of the node: for a site no more than its largest edge offers. */
export const offeredToOne = ({
  capacity,
  power,
}: {
  readonly capacity: Resources;
  readonly power?: Power;
}): Resources => (power?.site === undefined ? capacity : placesOf(power.site, power.isBare, 1));

function placesOf({ capacity }: SiteEdges, isBare: true | undefined, shares: number): Resources {
  const places: Record<string, number> = { [SHARE_RESOURCE]: shares };
  if (isBare === true) places[BARE_SHARE_RESOURCE] = shares;
  for (const [name, amount] of Object.entries(capacity)) {
    if (!isShareResource(name)) places[name] = amount * shares;
  }
  return places;
}
