import { EmptySchema, Scheduler } from "../../gen/goschedule/v1/scheduler_pb.ts";
import { AppError } from "../../lib/errors.ts";
import { defineService, type GrpcService } from "../grpc/service.ts";
import type { Traffic } from "../grpc/traffic.ts";
import { message } from "../grpc/wire-message.ts";
import type { GoScheduleOperations } from "./operations.ts";
import { toStatus } from "./status.ts";
import type { LinkSettings } from "./worker-link.ts";
import { Workers, type WorkersOptions } from "./workers.ts";

export interface GoScheduleSettings extends LinkSettings {
  /** Of tasks that come by Schedule; undefined: none. */
  readonly timeLimitMs?: number | undefined;
}

export interface GoScheduleOptions extends WorkersOptions {
  readonly operations: GoScheduleOperations;
  readonly settings: GoScheduleSettings;
  readonly traffic?: Traffic | undefined;
}

/** go-schedule's service, for its workers and for schedctl, both as they are. */
export function goScheduleService(options: GoScheduleOptions): GrpcService {
  const { logger, traffic } = options;
  const workers = new Workers(options);
  const notYet = () => Promise.reject(new AppError("unavailable", "not served yet"));
  return defineService(
    Scheduler,
    {
      workerConnect: (peer) => workers.connect(peer),
      setTaskState: async (task) => {
        workers.ended(task);
        return message(EmptySchema, {});
      },
      getWorkerList: notYet,
      getTaskList: notYet,
      schedule: notYet,
    },
    {
      logger,
      traffic,
      toStatus,
      large: { requests: ["setTaskState", "schedule"], answers: [] },
    },
  );
}
