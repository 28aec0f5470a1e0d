import type { IncomingMessage } from "node:http";
import { type OwnNames, refuseForeignPages } from "../../web/browser-guard.ts";

const METHODS = "GET, POST, PUT, PATCH, DELETE";

export type Headers = Readonly<Record<string, string>>;

/** Refuses web pages, except those of configured origins. Returns the headers that their browser needs with every answer. */
export function admitPage(
  request: IncomingMessage,
  names: OwnNames,
  origins: readonly string[],
): Headers {
  const { origin, host } = request.headers;
  if (origin === undefined || !origins.includes(origin)) {
    refuseForeignPages(request, names);
    return {};
  }
  // It may come from this page, but not by a host name that is not ours.
  const { method, socket } = request;
  const headers = host === undefined ? {} : { host };
  refuseForeignPages({ method, socket, headers }, names);
  return {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": "link, location, x-continue",
    vary: "origin",
  };
}

/** The preflight of a browser, before a request that a form could not send. */
export const preflight = (admitted: Headers): Headers => ({
  ...admitted,
  "access-control-allow-methods": METHODS,
  "access-control-allow-headers": "authorization, content-type",
  "access-control-max-age": "600",
});
