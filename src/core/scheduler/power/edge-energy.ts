import type { PowerChange } from "../../model/node/power.ts";

/** A node with power, as far as it matters how much it can do until when. */
export interface PowerEdge {
  /** Now. */
  readonly watts: number;
  /** That are expected; those that are over count no more, for the power now was told since. */
  readonly changes?: readonly PowerChange[] | undefined;
  /** It takes no larger share. */
  readonly greatestShare?: number | undefined;
  /** When it is free to begin; absent: now. */
  readonly freeAtMs?: number | undefined;
  /** It begins a share at the next tick and ends it at a later one, so often; absent: at once. */
  readonly tickMs?: number | undefined;
}

const MOST = Number.MAX_SAFE_INTEGER;
/** Nobody plans for more than about 1,100 years: what is not done by then is as good as never. */
export const HORIZON_MS = 2 ** 45;

/**
 * Whole watt-seconds that the edge can use from now until a time, in whole milliseconds; at most 2^53 - 1. Exact: parts
 * of a watt-second are added up in thousandths.
 */
export function energyUntil(edge: PowerEdge, nowMs: number, endMs: number): number {
  let whole = 0;
  let thousandths = 0;
  const freeAtMs = Math.max(nowMs, edge.freeAtMs ?? nowMs);
  // When its ticks come is not known: the next one may be a whole one away.
  let fromMs = freeAtMs + (edge.tickMs ?? 0);
  const untilMs = lastTick(edge, freeAtMs, endMs);
  let { watts } = edge;
  const add = (toMs: number): void => {
    const ms = toMs - fromMs;
    if (!(ms > 0)) return; // also where it is never free
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

/** The first millisecond at which the edge has used so much; Infinity: not within the horizon. */
export function endOfShare(edge: PowerEdge, nowMs: number, wattSeconds: number): number {
  const has = (ms: number): boolean => energyUntil(edge, nowMs, ms) >= wattSeconds;
  return firstMs(nowMs, has) ?? Number.POSITIVE_INFINITY;
}

/** The first millisecond from `nowMs` on at which this holds, if it holds ever after; undefined: not within the horizon. */
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
