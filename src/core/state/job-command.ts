import type { JobId } from "../model/ids.ts";
import type { IndexRanges } from "../model/job/array-range.ts";
import type { Conditional } from "./decide/if-revision.ts";

/** What is to be replaced of a job's terms, as callers say it. */
export interface JobUpdate {
  readonly priority?: number | undefined;
  readonly timeLimitMs?: number | null | undefined;
  readonly group?: string | undefined;
}

/** Changes of a job that was submitted. */
export type JobCommand =
  | (Conditional & {
      readonly kind: "cancel-job";
      readonly jobId: JobId;
      /** undefined: the whole job. */
      readonly index: number | undefined;
      readonly reason: string;
      readonly by: string;
      readonly nowMs: number;
    })
  /** Keeps tasks in the queue, or no longer. */
  | (Conditional & {
      readonly kind: "hold-job";
      readonly jobId: JobId;
      /** undefined: the whole job. */
      readonly index: number | undefined;
      /** undefined: it is released. */
      readonly hold: { readonly reason: string } | undefined;
      readonly by: string;
      readonly nowMs: number;
    })
  | (Conditional & {
      readonly kind: "update-job";
      readonly jobId: JobId;
      /** Absent: as it was; null: no time limit. Not checked yet. */
      readonly set: JobUpdate;
      readonly by: string;
    })
  /** What runs is stopped and placed again. */
  | (Conditional & {
      readonly kind: "requeue-job";
      readonly jobId: JobId;
      /** undefined: all of its tasks that are on nodes. */
      readonly index: number | undefined;
      readonly reason: string;
      readonly by: string;
      readonly nowMs: number;
    })
  /** A new job of the spec of another. */
  | (Conditional & {
      readonly kind: "rerun-job";
      readonly jobId: JobId;
      /** Only these tasks of an array; undefined: all of it. */
      readonly only: IndexRanges | undefined;
      readonly idempotencyKey: string | undefined;
      readonly by: string;
      readonly nowMs: number;
    });
