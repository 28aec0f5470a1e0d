import type { DescService } from "@bufbuild/protobuf";
import { Health } from "../../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { GrpcService } from "../service.ts";
import { createHealthChecks, type HealthChecks } from "./health.ts";
import { reflectionServices } from "./reflection.ts";

const BUILTIN: readonly DescService[] = [Health, ServerReflection, ServerReflectionAlpha];

/** The services of a listener: its own, health checks, and reflection of all these. */
export function withBuiltin(
  given: readonly GrpcService[],
  logger: Logger,
): { readonly services: readonly GrpcService[]; readonly health: HealthChecks } {
  const served = [...given.map(({ descriptor }) => descriptor), ...BUILTIN];
  const health = createHealthChecks(served, logger);
  return { services: [...given, health.service, ...reflectionServices(served, logger)], health };
}
