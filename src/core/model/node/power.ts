import { invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { BARE_PLACE, isPlaceName, SHARE_PLACE } from "../job/energy.ts";
import { whole } from "../job/whole.ts";
import type { Resources } from "../resources.ts";

/** What a node has for shares of jobs with energy: docs/design/power.md. It works at one at a time, with all of it. */
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
}

export interface PowerChange {
  readonly atMs: number;
  readonly watts: number;
}

const WATTS = { minimum: 0, maximum: limits.wattsMax } as const;
const TICK = { minimum: 1, maximum: limits.powerTickMsMax } as const;

/** Agents are not trusted. */
export function checkPower(power: Power, field: string): Power {
  const { changes = [], greatestShare, tickMs } = power;
  whole(power.watts, `${field}.watts`, WATTS);
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

/** As the node's row has it: `known` is what it had before. */
export function toldPower(told: Power, known: Power | undefined, nowMs: number): Power {
  return told.watts > 0 ? told : { ...told, noneSinceMs: known?.noneSinceMs ?? nowMs };
}

/** The node's capacity with a place for a share, if it has power. */
export function withPower(capacity: Resources, power: Power | undefined): Resources {
  const told = Object.keys(capacity).some(isPlaceName)
    ? Object.fromEntries(Object.entries(capacity).filter(([name]) => !isPlaceName(name)))
    : capacity;
  if (power === undefined) return told;
  return { ...told, [SHARE_PLACE]: 1, ...(power.isBare === true ? { [BARE_PLACE]: 1 } : {}) };
}
