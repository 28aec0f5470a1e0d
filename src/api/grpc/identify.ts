import type { IncomingHttpHeaders } from "node:http";
import { LOCAL, type Principal } from "../../core/access/principal.ts";
import { isLoopback } from "../../lib/address.ts";

/** The transport's data about a caller before the request is read. */
export interface Arrival {
  /** Without its port; undefined: the connection was already closed. */
  readonly address: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** Identifies the caller, once for each request. An error rejects the request. */
export type Identify = (arrival: Arrival) => Principal;

/**
 * While there are no users: by the address of the connection alone. A name in a header would be recorded beside changes as if it were true.
 */
export const byAddress: Identify = ({ address = "unknown" }) =>
  isLoopback(address) ? LOCAL : { kind: "network", address };
