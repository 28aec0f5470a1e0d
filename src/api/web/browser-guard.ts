import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { hostname } from "node:os";
import { isLoopback } from "../../lib/address.ts";
import { AppError } from "../../lib/errors.ts";

/** Host names of this server. */
export interface OwnNames {
  /** Its address. */
  readonly listenHost: string;
  /** Further names and addresses, of --host-name. */
  readonly hostNames: readonly string[];
}

const WILDCARDS = new Set(["0.0.0.0", "::"]);

/**
 * Refuses web pages. A browser reaches everything that its machine reaches, so a page from anywhere could run commands here: with its own
 * host name that it points to this server (DNS rebinding), or with a request that needs no permission because it has no body. So the
 * request must use one of the server's own names, and pages must come from this same server. Programs do not send `Origin` or
 * `Sec-Fetch-Site`, and are not affected.
 */
export function refuseForeignPages(
  { headers, method, socket }: Pick<IncomingMessage, "headers" | "method" | "socket">,
  names: OwnNames,
): void {
  const { host, origin } = headers;
  if (host !== undefined && !isOwnName(nameOf(host), names, socket.localAddress)) {
    throw new AppError(
      "permission_denied",
      `this server does not answer to the host name ${JSON.stringify(host.slice(0, 100))}; ` +
        "start it with --host-name to add one",
      { field: "Host" },
    );
  }
  if (origin !== undefined) {
    if (isOwnOrigin(origin, host ?? "", names)) return;
    const shown = JSON.stringify(origin.slice(0, 100));
    throw new AppError("permission_denied", `pages of ${shown} may not call this server`, {
      field: "Origin",
    });
  }
  const site = headers["sec-fetch-site"];
  if (site !== "cross-site" && site !== "same-site") return;
  // Following a link to this server only reads.
  if (method === "GET" && headers["sec-fetch-mode"] === "navigate") return;
  throw new AppError("permission_denied", "other pages may not call this server", {
    field: "Sec-Fetch-Site",
  });
}

/** The port does not count: tunnels have others. */
function isOwnName(
  name: string,
  { listenHost, hostNames }: OwnNames,
  localAddress: string | undefined,
): boolean {
  // Anyone can own a name that begins like an address: 127.0.0.1.example.com.
  if (name === "localhost" || (isIP(name) !== 0 && isLoopback(name))) return true;
  if (name === normal(listenHost) || hostNames.some((each) => normal(each) === name)) return true;
  if (!WILDCARDS.has(listenHost)) return false;
  const machine = normal(hostname());
  if (name === machine || name === machine.split(".")[0]) return true;
  return isIP(name) !== 0 && name === localAddress?.replace(/^::ffff:/i, "").toLowerCase();
}

/** A proxy in front may encrypt; then callers use a configured name of the server. */
function isOwnOrigin(origin: string, host: string, { hostNames }: OwnNames): boolean {
  if (!URL.canParse(origin)) return false;
  const from = new URL(origin);
  const isEncrypted =
    from.protocol === "https:" && hostNames.some((each) => normal(each) === nameOf(host));
  if (from.protocol !== "http:" && !isEncrypted) return false;
  const own = `${from.protocol}//${host}`;
  return URL.canParse(own) && new URL(own).host === from.host;
}

const nameOf = (host: string): string =>
  URL.canParse(`http://${host}`) ? normal(new URL(`http://${host}`).hostname) : "";

const normal = (name: string): string =>
  name
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");
