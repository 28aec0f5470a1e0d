import { EmptySchema } from "@bufbuild/protobuf/wkt";
import { WorkerStatusSchema } from "../../gen/rik/v1/common_pb.ts";
import { Controller as ControllerService } from "../../gen/rik/v1/controller_pb.ts";
import { InstanceSchedulingSchema, Worker as WorkerService } from "../../gen/rik/v1/worker_pb.ts";
import type { Logger } from "../../ports/logger.ts";
import { BytesMethod } from "../grpc/calls/bytes-method.ts";
import type { CallContext } from "../grpc/calls/call-context.ts";
import { PushedFrames } from "../grpc/calls/pushed-frames.ts";
import { message } from "../grpc/calls/wire-message.ts";
import { defineService, type GrpcService } from "../grpc/service.ts";
import type { Traffic } from "../grpc/traffic.ts";
import type { RikCallers } from "./callers.ts";
import type { RikController, Controllers } from "./controllers/controllers.ts";
import { SchedulingReader } from "./read-scheduling.ts";
import { StatusReader } from "./read-status.ts";
import { ANYBODY, OTHERS } from "./translate.ts";
import type { RikWorkers } from "./workers/workers.ts";

const NO_BYTES = new Uint8Array();
/** All releases of rik. */
const RIK_CONTROLLER = /^tonic\/0\.8\b/;

export interface RikServicesOptions {
  readonly callers: RikCallers;
  readonly workers: RikWorkers;
  readonly controllers: Controllers;
  readonly logger: Logger;
  readonly traffic?: Traffic | undefined;
}

/** The services of rik's scheduler, for its unmodified workers and controllers. */
export function rikServices(options: RikServicesOptions): {
  readonly worker: GrpcService;
  readonly controller: GrpcService;
} {
  const { callers, workers, controllers, logger, traffic } = options;
  const arriving = (context: CallContext, hostname?: string) => {
    const principal = callers.of(context.headers, "worker");
    if (hostname !== undefined && hostname !== "") callers.checkHostName(principal, hostname);
    return { context, owner: principal.name };
  };
  const asController = ({ headers }: CallContext): RikController => {
    const principal = callers.of(headers, "controller");
    const isRik = RIK_CONTROLLER.test(headers["user-agent"] ?? "");
    return { principal, name: principal.name ?? (isRik ? ANYBODY : OTHERS), isRik };
  };
  const scheduling = new SchedulingReader();
  const statuses = new StatusReader();
  return {
    worker: defineService(
      WorkerService,
      {
        register: new PushedFrames(InstanceSchedulingSchema, ({ hostname }, context, sink) => {
          try {
            return workers.register(hostname, arriving(context, hostname), sink);
          } catch (error) {
            workers.refusals.refused(hostname, context.peer, error);
            throw error;
          }
        }),
        sendStatusUpdates: (peer) => {
          const from = arriving(peer.context);
          return {
            decode: (bytes) => statuses.read(bytes),
            message: (status) => workers.heard(status, from),
            finished: () => {
              peer.send(message(EmptySchema, {}));
              peer.close();
            },
            closed: () => undefined,
          };
        },
      },
      { logger, traffic },
    ),
    controller: defineService(
      ControllerService,
      {
        scheduleInstance: new BytesMethod(EmptySchema, async (bytes, context) => {
          await controllers.schedule(scheduling.read(bytes), asController(context), context);
          return NO_BYTES;
        }),
        getStatusUpdates: new PushedFrames(WorkerStatusSchema, (_, context, sink) =>
          controllers.subscribe(asController(context), context, sink),
        ),
      },
      { logger, traffic, large: { requests: ["scheduleInstance"], answers: [] } },
    ),
  };
}
