import { create, toBinary } from "@bufbuild/protobuf";
import {
  type ResourceStatus,
  type WorkloadRequestKind,
  WorkerStatusSchema,
} from "../../gen/rik/v1/common_pb.ts";
import { InstanceSchedulingSchema } from "../../gen/rik/v1/worker_pb.ts";
import { frameMessage } from "../../lib/grpc/frames.ts";

/** Who tells controllers of instances. */
const SCHEDULER = "scheduler";

export const orderFrame = (
  instanceId: string,
  definition: string,
  action: WorkloadRequestKind,
): Buffer =>
  frameMessage(
    toBinary(
      InstanceSchedulingSchema,
      create(InstanceSchedulingSchema, { instanceId, definition, action }),
    ),
  );

export const instanceFrame = (
  instanceId: string,
  status: ResourceStatus,
  metrics: string,
): Buffer =>
  frameMessage(
    toBinary(
      WorkerStatusSchema,
      create(WorkerStatusSchema, {
        identifier: SCHEDULER,
        status: { case: "instance", value: { instanceId, status, metrics } },
      }),
    ),
  );

/** A controller that is sent one without an address listens no more. */
export const workerFrame = (
  identifier: string,
  hostAddress: string,
  told: { readonly status: ResourceStatus; readonly metrics: string },
): Buffer =>
  frameMessage(
    toBinary(
      WorkerStatusSchema,
      create(WorkerStatusSchema, {
        identifier,
        hostAddress,
        status: { case: "worker", value: told },
      }),
    ),
  );
