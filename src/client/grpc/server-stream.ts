import { connect } from "node:net";
import type { Address } from "../../lib/address.ts";
import { proxyFor } from "./proxy.ts";
import { connectThrough, type ServerStream } from "./tunnel.ts";

/** Connects, through a proxy where the environment names one for this address. */
export function streamTo(address: Address): ServerStream {
  const proxy = proxyFor(address, process.env);
  if (proxy !== undefined) return connectThrough(proxy, address);
  const stream = connect({ ...address, noDelay: true });
  return { stream, bytesRead: () => stream.bytesRead };
}
