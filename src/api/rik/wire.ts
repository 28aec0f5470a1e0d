import { create, toBinary } from "@bufbuild/protobuf";
import {
  type ResourceStatus,
  type WorkloadRequestKind,
  WorkerStatusSchema,
} from "../../gen/rik/v1/common_pb.ts";
import { frameMessage } from "../../lib/grpc/frames.ts";
import { fieldBytes, FrameWriter } from "../grpc/calls/frame-writer.ts";

/** The sender of instance statuses to controllers. */
const SCHEDULER = "scheduler";

/** InstanceScheduling. */
export function orderFrame(
  instanceId: string,
  definition: string,
  action: WorkloadRequestKind,
): Buffer {
  const idBytes = Buffer.byteLength(instanceId);
  const textBytes = Buffer.byteLength(definition);
  const actionBytes = action === 0 ? 0 : 2;
  return new FrameWriter(fieldBytes(idBytes) + fieldBytes(textBytes) + actionBytes)
    .text(1, instanceId, idBytes)
    .text(2, definition, textBytes)
    .number(3, action)
    .end();
}

/** WorkerStatus with an InstanceMetric. */
export function instanceFrame(instanceId: string, status: ResourceStatus, metrics: string): Buffer {
  const idBytes = Buffer.byteLength(instanceId);
  const metricsBytes = Buffer.byteLength(metrics);
  const statusBytes = status === 0 ? 0 : 2;
  const inside = statusBytes + fieldBytes(metricsBytes) + fieldBytes(idBytes);
  const insideBytes = Math.max(2, fieldBytes(inside)); // present even when it is empty
  return new FrameWriter(insideBytes + fieldBytes(SCHEDULER.length))
    .inside(1, inside)
    .number(1, status)
    .text(2, metrics, metricsBytes)
    .text(3, instanceId, idBytes)
    .text(3, SCHEDULER, SCHEDULER.length)
    .end();
}

/** A controller that receives one without an address stops listening. */
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
