import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";
import { isLoopback } from "../../../lib/address.ts";
import { AppError } from "../../../lib/errors.ts";

/**
 * Keeps web pages out. A browser on this machine reaches what listens on loopback, so that a page
 * from anywhere could run commands here: with a host name of its own that it points to 127.0.0.1,
 * or with a request that needs no permission because it has no body. Programs are not affected.
 */
export function refuseForeignPages(headers: IncomingHttpHeaders, listensOnLoopback: boolean): void {
  const { host, origin } = headers;
  if (listensOnLoopback && host !== undefined && !isLocal(`http://${host}`)) {
    throw new AppError("permission_denied", `${host} is not a name of this machine's loopback`, {
      field: "Host",
    });
  }
  if (origin === undefined || isLocal(origin) || origin.endsWith(`//${host}`)) return;
  throw new AppError("permission_denied", `pages of ${origin} may not call this server`, {
    field: "Origin",
  });
}

function isLocal(url: string): boolean {
  const name = URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, "") : "";
  // Anyone can own a name that begins like an address: 127.0.0.1.example.com.
  return name === "localhost" || (isIP(name) !== 0 && isLoopback(name));
}
