import { fromBinary } from "@bufbuild/protobuf";
import type { WorkloadRequestKind } from "../../gen/rik/v1/common_pb.ts";
import {
  type WorkloadScheduling,
  WorkloadSchedulingSchema,
} from "../../gen/rik/v1/controller_pb.ts";
import { undecodable } from "../grpc/calls/codec.ts";
import { Unusual, unusual, WireReader } from "../grpc/calls/wire-reader.ts";

/** The content of a ScheduleInstance request. */
export type SchedulingRequest = Pick<
  WorkloadScheduling,
  "workloadId" | "definition" | "action" | "instanceId"
>;

const [WORKLOAD_ID, DEFINITION, ACTION, INSTANCE_ID] = [0x0a, 0x12, 0x18, 0x22];

/**
 * Decodes requests one after another. Those of one workload repeat its text; all of them share one string, so that lookups by it are fast.
 */
export class SchedulingReader {
  #workloadId = "";
  #definition = "";

  /** Throws AppError when it is invalid. */
  read(bytes: Uint8Array): SchedulingRequest {
    let request: SchedulingRequest;
    try {
      request = this.#readUsual(bytes);
    } catch (error) {
      if (!(error instanceof Unusual)) throw error;
      request = decode(bytes);
    }
    if (request.definition === this.#definition) {
      return { ...request, definition: this.#definition };
    }
    this.#definition = request.definition;
    return request;
  }

  #readUsual(bytes: Uint8Array): SchedulingRequest {
    const reader = new WireReader(bytes);
    let [workloadId, definition, instanceId, action] = ["", "", "", 0];
    while (!reader.isAtEnd) {
      switch (reader.number()) {
        case WORKLOAD_ID:
          this.#workloadId = workloadId = reader.text(this.#workloadId);
          break;
        case DEFINITION:
          definition = reader.text("");
          break;
        case ACTION:
          action = reader.number();
          break;
        case INSTANCE_ID:
          instanceId = reader.text("");
          break;
        default:
          unusual();
      }
    }
    return { workloadId, definition, action: action as WorkloadRequestKind, instanceId };
  }
}

function decode(bytes: Uint8Array): SchedulingRequest {
  try {
    return fromBinary(WorkloadSchedulingSchema, bytes);
  } catch (error) {
    throw undecodable(WorkloadSchedulingSchema, error);
  }
}
