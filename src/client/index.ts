/**
 * The exports of `import { connect } from "busbar"`: the typed client of the native API. Everything else in the package is an
 * implementation detail.
 */
import { SERVER_DEFAULT } from "../lib/address.ts";
import { type BusbarClient, type ClientOptions, createClient } from "./client.ts";

export type * from "../gen/busbar/v1/busbar_pb.ts";
export { AppError, type ErrorCode } from "../lib/errors.ts";
export type { CallOptions } from "./call.ts";
export type { BusbarClient, ClientOptions } from "./client.ts";
export { isEnded, outputStreams, stateName, type StateName, stateNames, stateOf } from "./state.ts";

/**
 * A client of the server at `server`; by default of the one that `BUSBAR_SERVER` names, or of the one on this machine. The first call
 * connects, and so does the first call after a lost connection.
 */
export function connect(options: Partial<ClientOptions> = {}): BusbarClient {
  const [first] = (process.env["BUSBAR_SERVER"] ?? "").split(",");
  const server = first === undefined || first === "" ? SERVER_DEFAULT : first;
  return createClient({ server, ...options });
}
