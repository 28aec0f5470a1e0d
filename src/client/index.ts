/**
 * What `import { connect } from "busbar"` gives: the typed client of the native API. Everything else of
 * the package is an implementation detail.
 */
import { SERVER_DEFAULT } from "../lib/address.ts";
import { type BusbarClient, type ClientOptions, createClient } from "./client.ts";

export type * from "../gen/busbar/v1/busbar_pb.ts";
export { AppError, type ErrorCode } from "../lib/errors.ts";
export type { CallOptions } from "./call.ts";
export type { BusbarClient, ClientOptions } from "./client.ts";
export { isEnded, outputStreams, stateName, type StateName, stateNames, stateOf } from "./state.ts";

/**
 * A client of the server at `server`; without it, of the one that `BUSBAR_SERVER` names, or the one on
 * this machine. It dials with the first call, and again after a lost connection.
 */
export function connect(options: Partial<ClientOptions> = {}): BusbarClient {
  const [first] = (process.env["BUSBAR_SERVER"] ?? "").split(",");
  const server = first === undefined || first === "" ? SERVER_DEFAULT : first;
  return createClient({ server, ...options });
}
