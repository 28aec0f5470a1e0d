import { fromBinary } from "@bufbuild/protobuf";
import {
  EmptySchema,
  Scheduler,
  type Task,
  TaskListSchema,
  WorkerNodeListSchema,
} from "../../gen/goschedule/v1/scheduler_pb.ts";
import { GO_SCHEDULE } from "../../core/access/principal.ts";
import type { CallContext } from "../grpc/calls/call-context.ts";
import { undecodable } from "../grpc/calls/codec.ts";
import { BytesMethod } from "../grpc/calls/bytes-method.ts";
import { defineService, type GrpcService } from "../grpc/service.ts";
import type { Traffic } from "../grpc/traffic.ts";
import { message } from "../grpc/calls/wire-message.ts";
import type { GoScheduleAccess, GoScheduleOperations } from "./operations.ts";
import type { Previews } from "./lists/previews.ts";
import { schedule } from "./schedule.ts";
import { toStatus } from "./status.ts";
import { listTasks } from "./lists/task-list.ts";
import { listWorkers } from "./lists/worker-list.ts";
import type { LinkSettings } from "./worker-link.ts";
import { Workers, type WorkersOptions } from "./workers.ts";

export interface GoScheduleSettings extends LinkSettings {
  /** The time limit of tasks that come by Schedule; undefined: none. */
  readonly timeLimitMs?: number | undefined;
}

export interface GoScheduleOptions extends WorkersOptions {
  readonly operations: GoScheduleAccess;
  readonly settings: GoScheduleSettings;
  /** Known beginnings of outputs; other parts may add some. */
  readonly previews: Previews;
  readonly traffic?: Traffic | undefined;
}

/** go-schedule's service, for its unmodified workers and schedctl. */
export function goScheduleService(options: GoScheduleOptions): GrpcService {
  const { logger, traffic, settings, previews, clock } = options;
  const by = ({ principal }: CallContext): GoScheduleOperations => options.operations.as(principal);
  const workers = new Workers(options);
  return defineService(
    Scheduler,
    {
      workerConnect: (peer) => workers.connect(peer),
      setTaskState: async (task) => {
        workers.ended(task);
        return message(EmptySchema, {});
      },
      getWorkerList: new BytesMethod(WorkerNodeListSchema, (_, call) => listWorkers(by(call))),
      getTaskList: new BytesMethod(TaskListSchema, (_, call) =>
        listTasks({ operations: by(call), previews, clock }),
      ),
      schedule: new BytesMethod(TaskListSchema, (bytes, call) =>
        schedule(by(call), readTasks(bytes), settings),
      ),
    },
    {
      logger,
      traffic,
      toStatus,
      principal: GO_SCHEDULE, // this wire carries no credentials
      large: { requests: ["setTaskState", "schedule"], answers: [] },
    },
  );
}

function readTasks(bytes: Uint8Array): readonly Task[] {
  try {
    return fromBinary(TaskListSchema, bytes).tasks;
  } catch (error) {
    throw undecodable(TaskListSchema, error);
  }
}
