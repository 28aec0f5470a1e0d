import type { IncomingMessage, ServerResponse } from "node:http";
import { parseAddress } from "../../../lib/address.ts";
import { AppError, describeChain } from "../../../lib/errors.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { Traffic } from "../../grpc/traffic.ts";
import { refuseForeignPages } from "../../web/browser-guard.ts";
import { type HttpListener, listenHttp } from "../../web/http-listener.ts";
import { readBody, RestRefusal, send, toAnswer } from "./exchange.ts";
import type { RestParts } from "./route.ts";
import { ROUTES } from "./routes.ts";

export interface RikRestOptions extends RestParts {
  /** Where to listen: "127.0.0.1:5000". */
  readonly address: string;
  readonly hostNames?: readonly string[] | undefined;
  readonly logger: Logger;
  readonly traffic?: Traffic | undefined;
}

/** `/api/v0/workloads.instances/ID`; a slash too much, which rikctl may send, does not matter. */
const PATH = /^\/+api\/+v0\/+([a-z]+\.[a-z]+)(?:\/+([^/]*))?\/*$/;

/** The REST API of rik's controller, for rikctl and for users of it. */
export function createRikRest(options: RikRestOptions): Promise<HttpListener> {
  const { address, hostNames = [], logger, callers, traffic } = options;
  const names = { listenHost: parseAddress(address, "--rik-rest").host, hostNames };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const startedMs = performance.now();
    let code: AppError["code"] | "ok" = "ok";
    let name = "unmatched";
    try {
      refuseForeignPages(request, names);
      const [path = ""] = (request.url ?? "").split("?");
      const [, route = "", id = ""] = PATH.exec(path) ?? [];
      const handle = ROUTES[`${request.method} ${route}`];
      if (handle === undefined) {
        request.resume();
        return send(response, { status: 404 });
      }
      name = route;
      const principal = authenticated(() => callers.of(request.headers, "controller"), response);
      const body = request.method === "POST" ? await readBody(request) : "";
      const call = { principal, body, id: decodeURIComponent(id) };
      send(response, await handle(options, call));
    } catch (error) {
      if (!(error instanceof RestRefusal)) ({ code } = AppError.from(error, "rik"));
      if (code === "internal") logger.error({ error: describeChain(error) }, "rik request failed");
      send(response, toAnswer(error));
      request.resume(); // what still comes is of no interest
    } finally {
      traffic?.record("http", `rik ${name}`, { code, ms: performance.now() - startedMs });
    }
  };
  return listenHttp({ address, flag: "--rik-rest", serve });
}

/** Answers a missing or wrong credential with the required form. */
function authenticated<T>(identify: () => T, response: ServerResponse): T {
  try {
    return identify();
  } catch (error) {
    response.setHeader("www-authenticate", 'Basic realm="rik"');
    throw new RestRefusal(401, AppError.from(error, "identify").message);
  }
}
