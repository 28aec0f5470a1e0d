import type { JobId } from "../model/ids.ts";
import type { IndexRanges } from "../model/job/array-range.ts";
import type { Conditional } from "./decide/if-revision.ts";

/** The terms of a job to replace, as callers write them. */
export interface JobUpdate {
  readonly priority?: number | undefined;
  readonly timeLimitMs?: number | null | undefined;
  readonly group?: string | undefined;
}

/** Changes of a submitted job. */
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
  /** Holds tasks in the queue, or releases them. */
  | (Conditional & {
      readonly kind: "hold-job";
      readonly jobId: JobId;
      /** undefined: the whole job. */
      readonly index: number | undefined;
      /** undefined: release it. */
      readonly hold: { readonly reason: string } | undefined;
      readonly by: string;
      readonly nowMs: number;
    })
  | (Conditional & {
      readonly kind: "update-job";
      readonly jobId: JobId;
      /** Absent: unchanged; null: no time limit. Not checked yet. */
      readonly set: JobUpdate;
      readonly by: string;
    })
  /** Stops running tasks and places them again. */
  | (Conditional & {
      readonly kind: "requeue-job";
      readonly jobId: JobId;
      /** undefined: all of its tasks that are on nodes. */
      readonly index: number | undefined;
      readonly reason: string;
      readonly by: string;
      readonly nowMs: number;
    })
  /** Submits a new job with the spec of another. */
  | (Conditional & {
      readonly kind: "rerun-job";
      readonly jobId: JobId;
      /** Only these tasks of an array; undefined: all of it. */
      readonly only: IndexRanges | undefined;
      readonly idempotencyKey: string | undefined;
      readonly by: string;
      readonly nowMs: number;
    });
