import type { PowerChange } from "../../model/node/power.ts";

/** The properties of a node with power that determine how much energy it can use until a time. */
export interface PowerEdge {
  /** At present. */
  readonly watts: number;
  /** Expected changes. Past ones are ignored: the present power was reported after them. */
  readonly changes?: readonly PowerChange[] | undefined;
  /** The largest share that it accepts. */
  readonly greatestShare?: number | undefined;
  /** The time from which it is free; absent: now. */
  readonly freeAtMs?: number | undefined;
  /** The period of the ticks at which it begins and ends shares; absent: it does so at once. */
  readonly tickMs?: number | undefined;
}

const MOST = Number.MAX_SAFE_INTEGER;
/** The limit of planning, about 1,100 years: work that is not done by then counts as never done. */
export const HORIZON_MS = 2 ** 45;

/**
 * Whole watt-seconds that the edge can use from now until a time, in whole milliseconds; at most 2^53 - 1. Exact: fractions of a
 * watt-second are added in thousandths.
 */
export function energyUntil(edge: PowerEdge, nowMs: number, endMs: number): number {
  let whole = 0;
  let thousandths = 0;
  const freeAtMs = Math.max(nowMs, edge.freeAtMs ?? nowMs);
  // The phase of its ticks is unknown: the next one may be a full period away.
  let fromMs = freeAtMs + (edge.tickMs ?? 0);
  const untilMs = lastTick(edge, freeAtMs, endMs);
  let { watts } = edge;
  const add = (toMs: number): void => {
    const ms = toMs - fromMs;
    if (!(ms > 0)) return; // also when it is never free
    const seconds = Math.floor(ms / 1_000);
    thousandths += watts * (ms - seconds * 1_000);
    whole = watts * seconds > MOST - whole ? MOST : whole + watts * seconds;
    fromMs = toMs;
  };
  for (const change of edge.changes ?? []) {
    if (change.atMs <= nowMs) continue;
    if (change.atMs >= untilMs) break;
    add(change.atMs);
    watts = change.watts;
  }
  add(untilMs);
  return Math.min(MOST, whole + Math.floor(thousandths / 1_000));
}

const lastTick = ({ tickMs }: PowerEdge, freeAtMs: number, endMs: number): number =>
  tickMs === undefined ? endMs : freeAtMs + Math.floor((endMs - freeAtMs) / tickMs) * tickMs;

/**
 * The first millisecond at which the edge has used so much energy; Infinity: not within the
 * horizon.
 */
export function endOfShare(edge: PowerEdge, nowMs: number, wattSeconds: number): number {
  const has = (ms: number): boolean => energyUntil(edge, nowMs, ms) >= wattSeconds;
  return firstMs(nowMs, has) ?? Number.POSITIVE_INFINITY;
}

/** The first millisecond from `nowMs` on for which `holds` is true, if it then stays true; undefined: not within the horizon. */
export function firstMs(nowMs: number, holds: (ms: number) => boolean): number | undefined {
  if (holds(nowMs)) return nowMs;
  let [low, high] = [nowMs, nowMs + 1_024];
  while (!holds(high)) {
    if (high - nowMs >= HORIZON_MS) return undefined;
    [low, high] = [high, nowMs + 2 * (high - nowMs)];
  }
  while (high - low > 1) {
    const middle = low + Math.floor((high - low) / 2);
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}
