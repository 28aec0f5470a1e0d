import type { Server, ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import { invariant } from "../../lib/invariant.ts";

/** A service as a server takes it. */
export interface Added {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

interface Library {
  addToServer(server: Server): void;
}

type MethodDefinition = ServiceDefinition[string];
type Handler = UntypedServiceImplementation[string];

/**
 * The service `name` of a library that is loaded by the first call. Its methods are named here,
 * because the server must know them before; everything else is asked of the library.
 */
export function lazyService(
  name: string,
  methods: Readonly<Record<string, "unary" | "server-stream" | "two-way">>,
  load: () => Library,
): Added {
  let loaded: ReadonlyMap<string, LoadedMethod> | undefined;
  const definition: Record<string, MethodDefinition> = {};
  const implementation: UntypedServiceImplementation = {};
  for (const [method, kind] of Object.entries(methods)) {
    const path = `/${name}/${method}`;
    const own = (): LoadedMethod => {
      const found = (loaded ??= methodsOf(load())).get(path);
      invariant(found !== undefined, `the library has ${path}`);
      return found;
    };
    definition[method] = {
      path,
      requestStream: kind === "two-way",
      responseStream: kind !== "unary",
      requestSerialize: (value) => own().definition.requestSerialize(value),
      requestDeserialize: (bytes) => own().definition.requestDeserialize(bytes),
      responseSerialize: (value) => own().definition.responseSerialize(value),
      responseDeserialize: (bytes) => own().definition.responseDeserialize(bytes),
    };
    implementation[method] = ((call: unknown, callback: unknown) =>
      (own().handler as (...args: unknown[]) => void)(call, callback)) as Handler;
  }
  return { definition, implementation };
}

interface LoadedMethod {
  readonly definition: MethodDefinition;
  readonly handler: Handler;
}

/** By their paths, over all services that the library adds. */
function methodsOf(library: Library): ReadonlyMap<string, LoadedMethod> {
  const methods = new Map<string, LoadedMethod>();
  const addService = (all: ServiceDefinition, handlers: UntypedServiceImplementation): void => {
    for (const [name, definition] of Object.entries(all)) {
      const handler = handlers[name] ?? handlers[definition.originalName ?? name];
      if (handler !== undefined) methods.set(definition.path, { definition, handler });
    }
  };
  library.addToServer({ addService } as unknown as Server);
  return methods;
}
