import { createRequire } from "node:module";
import { type DescFile, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { Server, UntypedServiceImplementation } from "@grpc/grpc-js";
import type * as reflectionLibrary from "@grpc/reflection";
import type * as healthLibrary from "grpc-health-check";
import { type Added, lazyService } from "./grpc-lazy-service.ts";
import type { GrpcService } from "./grpc-service.ts";

/** What every gRPC server has besides its own services, for tools that know none of them. */
export interface Extras {
  setServing(isServing: boolean): void;
  /** Their streams know no end of their own. */
  endStreams(): void;
}

// Their libraries bring another implementation of protobuf along, and most servers are never asked.
const require = createRequire(import.meta.url);

/** Adds health checks and reflection (for grpcurl and its like). */
export function addExtras(server: Server, services: readonly GrpcService[]): Extras {
  const names = services.map(({ descriptor }) => descriptor.typeName);
  const open = new Set<OpenStream>();
  const add = ({ definition, implementation }: Added): void =>
    server.addService(definition, tracking(implementation, open));

  let health: healthLibrary.HealthImplementation | undefined;
  let isServing = true;
  const tellHealth = (): void => {
    for (const name of ["", ...names])
      health?.setStatus(name, isServing ? "SERVING" : "NOT_SERVING");
  };
  const methods = { Check: "unary", List: "unary", Watch: "server-stream" } as const;
  add(
    lazyService("grpc.health.v1.Health", methods, () => {
      health = loadHealth();
      tellHealth();
      return health;
    }),
  );
  for (const version of ["v1", "v1alpha"]) {
    const name = `grpc.reflection.${version}.ServerReflection`;
    add(lazyService(name, { ServerReflectionInfo: "two-way" }, () => loadReflection(services)));
  }
  return {
    setServing(next) {
      isServing = next;
      tellHealth();
    },
    endStreams() {
      for (const stream of open) stream.end();
    },
  };
}

function loadHealth(): healthLibrary.HealthImplementation {
  const library = require("grpc-health-check") as typeof healthLibrary;
  return new library.HealthImplementation();
}

/** The library wants what proto-loader makes, but reads nothing of it except the descriptors. */
function loadReflection(services: readonly GrpcService[]): reflectionLibrary.ReflectionService {
  const library = require("@grpc/reflection") as typeof reflectionLibrary;
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
  type Package = ConstructorParameters<typeof reflectionLibrary.ReflectionService>[0];
  const names = services.map(({ descriptor }) => descriptor.typeName);
  return new library.ReflectionService({ everything } as unknown as Package, { services: names });
}

interface OpenStream {
  end(): void;
}
interface TrackedCall extends OpenStream {
  on(event: "cancelled", listener: () => void): void;
}

/** The same handlers, whose streams are noted. */
function tracking(
  implementation: UntypedServiceImplementation,
  open: Set<OpenStream>,
): UntypedServiceImplementation {
  const tracked: UntypedServiceImplementation = {};
  for (const [name, handler] of Object.entries(implementation)) {
    const serve = handler as unknown as (call: OpenStream, callback: unknown) => void;
    tracked[name] = ((call: TrackedCall, callback: unknown) => {
      track(call, open);
      serve(call, callback);
    }) as unknown as UntypedServiceImplementation[string];
  }
  return tracked;
}

function track(call: TrackedCall, open: Set<OpenStream>): void {
  if (!("writable" in call)) return;
  open.add(call);
  call.on("cancelled", () => open.delete(call));
}
