import { EventEmitter } from "node:events";
import type { Server, ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js";
import type { GrpcCall } from "./calls/call.ts";
import type { Serve } from "./service.ts";
import { receiveOne } from "./calls/unary.ts";
import { GRPC, type GrpcStatus } from "./status.ts";

/** Services that were written for grpc-js: health checks and reflection. */
export interface ForeignServices {
  /** What they take for a server of grpc-js, of which they use nothing but `addService`. */
  readonly server: Server;
  readonly byPath: ReadonlyMap<string, Serve>;
  /** Their streams know no end of their own. */
  endStreams(): void;
}

type Methods = ServiceDefinition[string];
type ForeignHandler = (call: ForeignCall, done: Done) => void;
type Done = (error: Partial<GrpcStatus> | null, answer?: unknown) => void;

export function createForeignServices(): ForeignServices {
  const byPath = new Map<string, Serve>();
  const open = new Set<ForeignCall>();
  const addService = (
    definition: ServiceDefinition,
    implementation: UntypedServiceImplementation,
  ): void => {
    for (const [name, method] of Object.entries(definition)) {
      const handler = implementation[name] ?? implementation[method.originalName ?? ""];
      if (handler === undefined) continue;
      byPath.set(method.path, serve(method, handler as unknown as ForeignHandler, open));
    }
  };
  return {
    server: { addService } as unknown as Server,
    byPath,
    endStreams() {
      for (const call of open) call.end();
    },
  };
}

function serve(method: Methods, handler: ForeignHandler, open: Set<ForeignCall>): Serve {
  return (call) => {
    const foreign = new ForeignCall(method, call);
    const closed = (): void => {
      open.delete(foreign);
      foreign.emit("cancelled");
    };
    const done: Done = (error, answer) => {
      if (error === null) call.answer(method.responseSerialize(answer));
      else foreign.refuse(error);
    };
    const begin = (): void => {
      if (method.responseStream) open.add(foreign);
      handler(foreign, done);
    };
    if (method.requestStream) {
      begin();
      call.start({
        message: (bytes) => foreign.read(bytes, (message) => void foreign.emit("data", message)),
        finished: () => void foreign.emit("end"),
        closed,
      });
      return;
    }
    const take = (bytes: Buffer): void =>
      foreign.read(bytes, (message) => {
        foreign.request = message;
        begin();
      });
    receiveOne(call, take, closed);
  };
}

/** A call as grpc-js hands it to a handler, as far as these services use it. */
class ForeignCall extends EventEmitter {
  request: unknown;
  readonly #method: Methods;
  readonly #call: GrpcCall;

  constructor(method: Methods, call: GrpcCall) {
    super();
    this.#method = method;
    this.#call = call;
    this.on("error", (error: Partial<GrpcStatus>) => this.refuse(error));
  }

  write(message: unknown): boolean {
    return this.#call.send(this.#method.responseSerialize(message));
  }

  end(): void {
    this.#call.end();
  }

  read(bytes: Buffer, then: (message: unknown) => void): void {
    let message: unknown;
    try {
      message = this.#method.requestDeserialize(bytes);
    } catch {
      const details = `the request is not one of ${this.#method.path}`;
      return this.refuse({ code: GRPC.INVALID_ARGUMENT, details });
    }
    then(message);
  }

  refuse({ code = GRPC.INTERNAL, details = "internal error" }: Partial<GrpcStatus>): void {
    this.#call.refuse({ code, details, metadata: {} });
  }
}
