import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import type { RikInstanceState } from "../translate.ts";
import type { Subscription } from "./subscription.ts";

/** One instance, as its controller knows it. */
export interface RikInstance {
  readonly controller: string;
  readonly id: string;
  readonly workloadId: string;
  /** The workload of its slot, for a workload of REST users; undefined: a single job. */
  readonly service: string | undefined;
  /** The definition of its job, which is valid; undefined: that of its workload, if it has one. */
  definition: string | undefined;
  /** Undefined: it is being submitted, or was rejected. */
  jobId: string | undefined;
  /** Settles when it has been submitted, or rejected. */
  submitting: Promise<void> | undefined;
  state: RikInstanceState;
  /** Its job has ended, or it never had one. */
  isOver: boolean;
  /** A user or its controller has ended it; it may still be there for a while. */
  isGoing: boolean;
  /** The stream that receives its statuses. */
  home: Subscription | undefined;
  /** The note that its controller received its end is stored, or about to be. */
  isTold: boolean;
  /** Its controller seems not to have it any more, and receives nothing of it before it names it. */
  isForgotten: boolean;
}

const PENDING: RikInstanceState = { status: ResourceStatus.PENDING, reason: "" };

export const newInstance = ({
  controller,
  id,
  workloadId,
  service,
  definition,
  jobId,
  submitting,
  state = PENDING,
  isOver = false,
  isGoing = false,
  home,
  isTold = false,
  isForgotten = false,
}: Pick<RikInstance, "controller" | "id" | "workloadId"> & Partial<RikInstance>): RikInstance => ({
  controller,
  id,
  workloadId,
  service,
  definition,
  jobId,
  submitting,
  state,
  isOver,
  isGoing,
  home,
  isTold,
  isForgotten,
});
