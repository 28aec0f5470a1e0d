import {
  InstanceMetricSchema,
  type ResourceStatus,
  type WorkerStatus,
  WorkerStatusSchema,
} from "../../gen/rik/v1/common_pb.ts";
import { message } from "../grpc/calls/wire-message.ts";
import { Unusual, unusual, WireReader } from "../grpc/calls/wire-reader.ts";

const [INSTANCE, IDENTIFIER] = [0x0a, 0x1a];
const [STATUS, METRICS, INSTANCE_ID] = [0x08, 0x12, 0x1a];

/** Decodes statuses of instances, one worker's after the other: a worker sends two for each. */
export class StatusReader {
  #identifier = "";

  /** Undefined: of a machine, or not as workers usually write it. */
  read(bytes: Uint8Array): WorkerStatus | undefined {
    try {
      return this.#read(new WireReader(bytes));
    } catch (error) {
      if (error instanceof Unusual) return undefined;
      throw error;
    }
  }

  #read(reader: WireReader): WorkerStatus {
    let value: ReturnType<typeof readInstance> | undefined;
    let identifier: string | undefined;
    while (!reader.isAtEnd) {
      const tag = reader.number();
      if (tag === INSTANCE && value === undefined) value = readInstance(reader);
      else if (tag === IDENTIFIER && identifier === undefined)
        identifier = this.#identifier = reader.text(this.#identifier);
      else unusual();
    }
    if (value === undefined) return unusual();
    const status = { case: "instance", value } as const;
    const named = identifier ?? "";
    return message(WorkerStatusSchema, { identifier: named, hostAddress: undefined, status });
  }
}

function readInstance(reader: WireReader) {
  let [status, metrics, instanceId] = [0, "", ""];
  const outer = reader.enter();
  while (!reader.isAtEnd) {
    switch (reader.number()) {
      case STATUS:
        status = reader.number();
        break;
      case METRICS:
        metrics = reader.text("");
        break;
      case INSTANCE_ID:
        instanceId = reader.text("");
        break;
      default:
        unusual();
    }
  }
  reader.leave(outer);
  if (status > STATUS_MAX) unusual();
  return message(InstanceMetricSchema, { status: status as ResourceStatus, metrics, instanceId });
}

/** Larger numbers may be negative ones. */
const STATUS_MAX = 0x7f;
