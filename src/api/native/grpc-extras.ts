import { type DescFile, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { ReflectionService } from "@grpc/reflection";
import { HealthImplementation } from "grpc-health-check";
import { createForeignServices } from "./grpc-foreign.ts";
import type { GrpcService, Serve } from "./grpc-service.ts";

/** What every gRPC server has besides its own services, for tools that know none of them. */
export interface Extras {
  readonly byPath: ReadonlyMap<string, Serve>;
  setServing(isServing: boolean): void;
  endStreams(): void;
}

/** Health checks and reflection (for grpcurl and its like). */
export function createExtras(services: readonly GrpcService[]): Extras {
  const names = services.map(({ descriptor }) => descriptor.typeName);
  const foreign = createForeignServices();
  const health = new HealthImplementation();
  const setServing = (isServing: boolean): void => {
    for (const name of ["", ...names])
      health.setStatus(name, isServing ? "SERVING" : "NOT_SERVING");
  };
  setServing(true);
  health.addToServer(foreign.server);
  reflection(services, names).addToServer(foreign.server);
  return { byPath: foreign.byPath, setServing, endStreams: () => foreign.endStreams() };
}

/** The library wants what proto-loader makes, but reads nothing of it except the descriptors. */
function reflection(services: readonly GrpcService[], names: readonly string[]): ReflectionService {
  const files = new Map<string, Buffer>();
  const add = (file: DescFile): void => {
    if (files.has(file.name)) return;
    files.set(file.name, Buffer.from(toBinary(FileDescriptorProtoSchema, file.proto)));
    file.dependencies.forEach(add);
  };
  for (const { descriptor } of services) add(descriptor.file);
  const everything = {
    format: "Protocol Buffer 3 DescriptorProto",
    type: {},
    fileDescriptorProtos: [...files.values()],
  };
  type Package = ConstructorParameters<typeof ReflectionService>[0];
  return new ReflectionService({ everything } as unknown as Package, { services: [...names] });
}
