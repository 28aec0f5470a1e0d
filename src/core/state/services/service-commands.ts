import type { JobId, ServiceId } from "../../model/ids.ts";
import type { JobSpec } from "../../model/job/job.ts";
import type { RolloutInput } from "../../model/service/service.ts";
import type { Conditional } from "../decide/if-revision.ts";

/** Commands of callers on services and their instances. */
export type ServiceCommand =
  /** Creates a service, or changes the given fields; a changed spec is rolled out. */
  | (Conditional & {
      readonly kind: "put-service";
      readonly id: ServiceId;
      /** Required for a new service. */
      readonly spec?: JobSpec | undefined;
      readonly replicas?: number | undefined;
      readonly rollout?: RolloutInput | undefined;
      readonly by: string;
      readonly nowMs: number;
    })
  | (Conditional & {
      readonly kind: "scale-service";
      readonly id: ServiceId;
      readonly replicas: number;
      readonly by: string;
    })
  /** Rolls back to an earlier template. */
  | (Conditional & {
      readonly kind: "rollback-service";
      readonly id: ServiceId;
      /** Undefined: the one that was rolled out before. */
      readonly generation?: number | undefined;
      readonly by: string;
      readonly nowMs: number;
    })
  /** Ends all instances; the service is removed with the last one. */
  | (Conditional & {
      readonly kind: "remove-service";
      readonly id: ServiceId;
      readonly reason: string;
      readonly by: string;
      readonly nowMs: number;
    })
  /** Instances that callers name; all of them or none. */
  | {
      readonly kind: "add-instances";
      readonly service: ServiceId;
      readonly names: readonly string[];
      readonly by: string;
      readonly nowMs: number;
    }
  | {
      readonly kind: "remove-instances";
      readonly service: ServiceId;
      readonly names: readonly string[];
      readonly reason: string;
      readonly by: string;
      readonly nowMs: number;
    };

export interface AddedInstance {
  readonly name: string;
  readonly jobId: JobId;
  /** The instance existed and its job has not ended: nothing was added. */
  readonly existed: boolean;
}
