import type { JobId } from "../model/ids.ts";
import type { InstanceRef, JobSpec } from "../model/job/job.ts";

export interface Submission {
  readonly spec: JobSpec;
  readonly idempotencyKey: string | undefined;
  /** Of a service, which makes its jobs itself; absent: it belongs to none. */
  readonly instance?: InstanceRef;
}

export interface Submitted {
  readonly id: JobId;
  /** By its idempotency key: nothing was added. */
  readonly existed: boolean;
}
