import type { ErrorCode } from "../../lib/errors.ts";
import { Histogram } from "../../lib/histogram.ts";

const BOUNDS_MS = [1, 5, 25, 100, 500, 2_500, 10_000];

export interface MethodTraffic {
  readonly door: "grpc" | "http";
  /** "SubmitJobs", or "POST /v1/jobs": never a caller's path, because these are unbounded. */
  readonly method: string;
  readonly calls: ReadonlyMap<ErrorCode | "ok", number>;
  readonly times: Histogram;
}

/** Counts calls of every door; cheap enough for each of them. */
export interface Traffic {
  record(
    door: MethodTraffic["door"],
    method: string,
    outcome: { readonly code: ErrorCode | "ok"; readonly ms: number },
  ): void;
  methods(): Iterable<MethodTraffic>;
}

interface Counters extends MethodTraffic {
  readonly calls: Map<ErrorCode | "ok", number>;
}

export function createTraffic(): Traffic {
  const counters = new Map<string, Counters>();
  return {
    record(door, method, { code, ms }) {
      const key = `${door} ${method}`;
      let found = counters.get(key);
      if (found === undefined) {
        found = { door, method, calls: new Map(), times: new Histogram(BOUNDS_MS) };
        counters.set(key, found);
      }
      found.calls.set(code, (found.calls.get(code) ?? 0) + 1);
      found.times.observe(ms);
    },
    methods: () => counters.values(),
  };
}
