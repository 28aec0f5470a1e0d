import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import type { RikInstanceState } from "../translate.ts";
import type { Subscription } from "./subscription.ts";

/** One instance, as its controller knows it. */
export interface RikInstance {
  readonly controller: string;
  readonly id: string;
  readonly workloadId: string;
  /** Whose slot it is, of a workload that REST users made; undefined: a single job. */
  readonly service: string | undefined;
  /** That its job was made of, where it is shown; undefined: that of its workload. */
  definition: string | undefined;
  /** Undefined: it is being submitted, or was refused. */
  jobId: string | undefined;
  /** Settles when it has been submitted, or refused. */
  submitting: Promise<void> | undefined;
  state: RikInstanceState;
  /** Its job has ended, or it never had one. */
  isOver: boolean;
  /** The stream that receives its statuses. */
  home: Subscription | undefined;
  /** The note that its controller received its end is stored, or about to be. */
  isTold: boolean;
}

const PENDING: RikInstanceState = { status: ResourceStatus.PENDING, reason: "" };

export const newInstance = (
  known: Pick<RikInstance, "controller" | "id" | "workloadId"> & Partial<RikInstance>,
): RikInstance => ({
  service: undefined,
  definition: undefined,
  jobId: undefined,
  submitting: undefined,
  state: PENDING,
  isOver: false,
  home: undefined,
  isTold: false,
  ...known,
});
