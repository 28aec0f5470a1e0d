import { type Connection, dial } from "../../client/grpc/connection.ts";
import { parseAddress } from "../../lib/address.ts";
import { limits } from "../../limits.ts";
import { openLink } from "./grpc-link.ts";
import type { ConnectLink } from "./link.ts";

/** Links of many agents of one process, some hundred on each connection. */
export function createSharedConnect(server: string): ConnectLink {
  let newest: { readonly connection: Connection; opened: number; open: number } | undefined;
  return (events) => {
    const isUsable =
      newest?.connection.failure === undefined &&
      (newest?.opened ?? 0) < limits.linksPerConnectionMax;
    if (newest === undefined || !isUsable) {
      newest = { connection: dial(parseAddress(server, "server")), opened: 0, open: 0 };
    }
    const shared = newest;
    shared.opened++;
    shared.open++;
    return openLink(shared.connection, events, () => {
      shared.open--;
      if (shared.open > 0) return;
      shared.connection.close();
      if (newest === shared) newest = undefined;
    });
  };
}
