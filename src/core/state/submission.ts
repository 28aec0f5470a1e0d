import type { JobId } from "../model/ids.ts";
import type { InstanceRef, JobSpec } from "../model/job/job.ts";

export interface Submission {
  readonly spec: JobSpec;
  readonly idempotencyKey: string | undefined;
  /** Set for jobs of a service, which submits them itself; absent: the job belongs to none. */
  readonly instance?: InstanceRef;
  /** It is on hold from the start. */
  readonly isHeld?: boolean;
}

export interface Submitted {
  readonly id: JobId;
  /** A job with its idempotency key exists: nothing was added. */
  readonly existed: boolean;
}
