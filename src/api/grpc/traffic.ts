import type { ErrorCode } from "../../lib/errors.ts";

/** Upper ends of the histogram's buckets. */
export const BUCKETS_SECONDS = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10] as const;

export interface MethodTraffic {
  readonly door: "grpc" | "http";
  /** "SubmitJobs", or "POST /v1/jobs": never a path as a caller wrote it, of which there is no end. */
  readonly method: string;
  readonly calls: ReadonlyMap<ErrorCode | "ok", number>;
  /** How many took at most each bucket's time, and longer than the one's before. */
  readonly buckets: readonly number[];
  readonly secondsTotal: number;
}

/** Counts calls over every door; cheap enough for each of them. */
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
  readonly buckets: number[];
  secondsTotal: number;
}

export function createTraffic(): Traffic {
  const counters = new Map<string, Counters>();
  return {
    record(door, method, { code, ms }) {
      const key = `${door} ${method}`;
      let found = counters.get(key);
      if (found === undefined) {
        const buckets = Array.from({ length: BUCKETS_SECONDS.length + 1 }, () => 0);
        found = { door, method, calls: new Map(), buckets, secondsTotal: 0 };
        counters.set(key, found);
      }
      const seconds = ms / 1_000;
      const at = BUCKETS_SECONDS.findIndex((most) => seconds <= most);
      const bucket = at < 0 ? BUCKETS_SECONDS.length : at;
      found.calls.set(code, (found.calls.get(code) ?? 0) + 1);
      found.buckets[bucket] = (found.buckets[bucket] ?? 0) + 1;
      found.secondsTotal += seconds;
    },
    methods: () => counters.values(),
  };
}
