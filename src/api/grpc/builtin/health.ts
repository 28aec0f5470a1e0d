import { type DescService, toBinary } from "@bufbuild/protobuf";
import {
  Health,
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus as Status,
  HealthCheckResponseSchema,
  HealthListResponseSchema,
} from "../../../gen/grpc/health/v1/health_pb.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Logger } from "../../../ports/logger.ts";
import { frameMessage } from "../../../lib/grpc/frames.ts";
import { type FrameSink, PushedFrames } from "../calls/pushed-frames.ts";
import { message } from "../calls/wire-message.ts";
import { defineService, type GrpcService } from "../service.ts";

/** The health of one listener, for probes and load balancers. All its services have the same status. */
export interface HealthChecks {
  readonly service: GrpcService;
  /** Notifies every open watch. */
  setServing(isServing: boolean): void;
}

interface HealthWatch {
  readonly sink: FrameSink;
  readonly connection: object;
  /** An unknown service: its status never changes. */
  readonly isKnown: boolean;
}

export function createHealthChecks(served: readonly DescService[], logger: Logger): HealthChecks {
  const names = new Set(["", ...served.map(({ typeName }) => typeName)]);
  const watches = new Set<HealthWatch>();
  let status: Status = Status.SERVING;
  const notify = ({ sink, isKnown }: HealthWatch): void => {
    const bytes = toBinary(
      HealthCheckResponseSchema,
      answer(isKnown ? status : Status.SERVICE_UNKNOWN),
    );
    sink.send([frameMessage(bytes)], nothing);
  };
  const service = defineService(
    Health,
    {
      check: async ({ service: name }) => {
        if (!names.has(name))
          throw new AppError("not_found", `this port serves no service "${name}"`);
        return answer(status);
      },
      list: async () => {
        const statuses = Object.fromEntries([...names].map((name) => [name, answer(status)]));
        return message(HealthListResponseSchema, { statuses });
      },
      watch: new PushedFrames(HealthCheckResponseSchema, (request, { connection }, sink) => {
        checkCount(watches, connection);
        const watch = { sink, connection, isKnown: names.has(request.service) };
        watches.add(watch);
        notify(watch);
        return {
          close: () => void watches.delete(watch),
          end: (error) => sink.end(error),
          beat: nothing,
        };
      }),
    },
    { logger },
  );
  return {
    service,
    setServing(isServing) {
      const next = isServing ? Status.SERVING : Status.NOT_SERVING;
      if (next === status) return;
      status = next;
      for (const watch of watches) if (watch.isKnown) notify(watch);
    },
  };
}

function checkCount(watches: ReadonlySet<HealthWatch>, connection: object): void {
  const { healthWatchesMax: max, healthWatchesPerConnectionMax: maxHere } = limits;
  if (watches.size >= max)
    throw new AppError("exhausted", `this port has ${max} health watches; call Check instead`);
  const here = [...watches].filter((watch) => watch.connection === connection).length;
  if (here >= maxHere)
    throw new AppError("exhausted", `this connection has ${maxHere} health watches; share them`);
}

const nothing = (): void => undefined;

const answer = (status: Status): HealthCheckResponse =>
  message(HealthCheckResponseSchema, { status });
