import { median, percentile } from "./numbers.ts";
import { atMost, type Measure } from "./part.ts";

/** A load with watches, or without: the server's CPU, its growth, and the waits of small requests. */
export interface WatchedRound {
  readonly cpuMs: number;
  readonly growthMb: number;
  readonly waitsMs: readonly number[];
}

export function growthOf(
  name: string,
  watched: WatchedRound,
  alone: WatchedRound,
  mbMax: number,
): Measure {
  return {
    name: `${name}: memory grows by`,
    value: watched.growthMb - alone.growthMb,
    unit: "MB",
    must: atMost(mbMax),
    note: `${watched.growthMb.toFixed(0)} MB with watches, ${alone.growthMb.toFixed(0)} without`,
  };
}

export function worstWait(
  name: string,
  { waitsMs }: WatchedRound,
  alone: WatchedRound,
  msMax: number,
): Measure {
  const worstAlone = percentile(alone.waitsMs, 1).toFixed(0);
  return {
    name,
    value: percentile(waitsMs, 1),
    unit: "ms",
    must: atMost(msMax),
    note: `p50 ${median(waitsMs).toFixed(1)}, ${waitsMs.length} probes; without watches worst ${worstAlone}`,
  };
}

export function cpuFactor(
  name: string,
  watched: WatchedRound,
  alone: WatchedRound,
  { timesMax, note }: { readonly timesMax: number; readonly note: string },
): Measure {
  return {
    name: `${name}: CPU, times that without watches`,
    value: watched.cpuMs / alone.cpuMs,
    unit: "x",
    must: atMost(timesMax),
    note: `${watched.cpuMs} and ${alone.cpuMs} ms${note}`,
  };
}
