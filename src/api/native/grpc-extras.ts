import { type DescFile, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { Server, ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import { ReflectionService } from "@grpc/reflection";
import { HealthImplementation } from "grpc-health-check";
import type { GrpcService } from "./grpc-service.ts";

/** What every gRPC server has besides its own services, for tools that know none of them. */
export interface Extras {
  setServing(isServing: boolean): void;
  /** Their streams know no end of their own. */
  endStreams(): void;
}

/** Adds health checks and reflection (for grpcurl and its like). */
export function addExtras(server: Server, services: readonly GrpcService[]): Extras {
  const names = services.map(({ descriptor }) => descriptor.typeName);
  const open = new Set<OpenStream>();
  const health = new HealthImplementation();
  const setServing = (isServing: boolean): void => {
    for (const name of ["", ...names])
      health.setStatus(name, isServing ? "SERVING" : "NOT_SERVING");
  };
  setServing(true);
  health.addToServer(tracking(server, open));
  reflection(services, names).addToServer(tracking(server, open));
  return {
    setServing,
    endStreams() {
      for (const stream of open) stream.end();
    },
  };
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

interface OpenStream {
  end(): void;
}
interface TrackedCall extends OpenStream {
  on(event: "cancelled", listener: () => void): void;
}

/** A stand-in for the server that notes the streams of whatever is added through it. */
function tracking(server: Server, open: Set<OpenStream>): Server {
  const addService = (
    definition: ServiceDefinition,
    implementation: UntypedServiceImplementation,
  ): void => {
    const tracked: UntypedServiceImplementation = {};
    for (const [name, handler] of Object.entries(implementation)) {
      const serve = handler as unknown as (call: OpenStream, callback: unknown) => void;
      tracked[name] = ((call: TrackedCall, callback: unknown) => {
        track(call, open);
        serve(call, callback);
      }) as unknown as UntypedServiceImplementation[string];
    }
    server.addService(definition, tracked);
  };
  return { addService } as unknown as Server;
}

function track(call: TrackedCall, open: Set<OpenStream>): void {
  if (!("writable" in call)) return;
  open.add(call);
  call.on("cancelled", () => open.delete(call));
}
