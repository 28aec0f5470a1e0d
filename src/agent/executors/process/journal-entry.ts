import type { RunReport } from "../../../ports/executor.ts";
import type { RunTerms, StopCause } from "./run.ts";

/**
 * What an agent must still know after it was killed. Every entry is written before what it tells
 * of is done; `key` is a run's (see runKey).
 */
export type JournalEntry =
  | { readonly kind: "boot"; readonly bootId: string }
  | { readonly kind: "started"; readonly key: string; readonly terms: RunTerms }
  | { readonly kind: "begun"; readonly key: string; readonly atMs: number }
  | {
      readonly kind: "stopping";
      readonly key: string;
      readonly cause: StopCause;
      readonly killAtMs: number;
    }
  | {
      readonly kind: "ended";
      readonly key: string;
      readonly report: Extract<RunReport, { kind: "ended" }>;
    }
  | {
      readonly kind: "forgotten"; // acknowledged; its output is kept for a while
      readonly key: string;
      readonly atMs: number;
      readonly bytes: number;
      readonly outputLimitBytes: number;
    }
  | { readonly kind: "removed"; readonly key: string }; // nothing of it is left
