import { createRequire } from "node:module";
import { type DescFile, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type * as reflectionLibrary from "@grpc/reflection";
import type * as healthLibrary from "grpc-health-check";
import { createForeignServices, type ForeignServices } from "./grpc-js-services.ts";
import type { GrpcService, Serve } from "./service.ts";

/** What every gRPC server has besides its own services, for tools that know none of them. */
export interface Extras {
  find(path: string): Serve | undefined;
  setServing(isServing: boolean): void;
  endStreams(): void;
}

interface Loaded {
  readonly foreign: ForeignServices;
  readonly health: healthLibrary.HealthImplementation;
}

// Their libraries bring grpc-js and another implementation of protobuf along, and most servers are
// never asked: they are loaded by the first call.
const require = createRequire(import.meta.url);
const PATHS = /^\/grpc\.(health|reflection)\./;

/** Health checks and reflection (for grpcurl and its like). */
export function createExtras(services: readonly GrpcService[]): Extras {
  const names = services.map(({ descriptor }) => descriptor.typeName);
  let loaded: Loaded | undefined;
  let isServing = true;
  const tellHealth = (): void => {
    for (const name of ["", ...names])
      loaded?.health.setStatus(name, isServing ? "SERVING" : "NOT_SERVING");
  };
  return {
    find(path) {
      if (!PATHS.test(path)) return undefined;
      if (loaded === undefined) {
        loaded = load(services, names);
        tellHealth();
      }
      return loaded.foreign.byPath.get(path);
    },
    setServing(next) {
      isServing = next;
      tellHealth();
    },
    endStreams: () => loaded?.foreign.endStreams(),
  };
}

function load(services: readonly GrpcService[], names: readonly string[]): Loaded {
  const { HealthImplementation } = require("grpc-health-check") as typeof healthLibrary;
  const foreign = createForeignServices();
  const health = new HealthImplementation();
  health.addToServer(foreign.server);
  loadReflection(services, names).addToServer(foreign.server);
  return { foreign, health };
}

/** The library wants what proto-loader makes, but reads nothing of it except the descriptors. */
function loadReflection(
  services: readonly GrpcService[],
  names: readonly string[],
): reflectionLibrary.ReflectionService {
  const { ReflectionService } = require("@grpc/reflection") as typeof reflectionLibrary;
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
