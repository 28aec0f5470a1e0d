import type { IncomingMessage, ServerResponse } from "node:http";
import { parseAddress } from "../../../lib/address.ts";
import { AppError, describeChain } from "../../../lib/errors.ts";
import type { Logger } from "../../../ports/logger.ts";
import { type CallMemory, createCallMemory, memoryOf } from "../../grpc/memory/call-memory.ts";
import type { Traffic } from "../../grpc/traffic.ts";
import { refuseForeignPages } from "../../web/browser-guard.ts";
import { type HttpListener, listenHttp } from "../../web/http-listener.ts";
import { type RestAnswer, RestRefusal, send, toAnswer, withBody } from "./exchange.ts";
import type { RestParts } from "./route.ts";
import { ROUTES } from "./routes.ts";

export interface RikRestOptions extends RestParts {
  /** The address to listen on: "127.0.0.1:5000". */
  readonly address: string;
  readonly hostNames?: readonly string[] | undefined;
  readonly logger: Logger;
  /** Of all doors together. */
  readonly memory?: CallMemory | undefined;
  readonly traffic?: Traffic | undefined;
}

/** `/api/v0/workloads.instances/ID`; an extra slash, which rikctl may send, does not matter. */
const PATH = /^\/+api\/+v0\/+([a-z]+\.[a-z]+)(?:\/+([^/]*))?\/*$/;

/** Of a request that names the whole URL, as one that goes through a proxy does. */
const ORIGIN = /^https?:\/\/[^/?]*/i;

/** The REST API of rik's controller, for rikctl and other users. */
export function createRikRest(options: RikRestOptions): Promise<HttpListener> {
  const { address, hostNames = [], logger, callers, traffic } = options;
  const memoryAt = memoryOf(options.memory ?? createCallMemory());
  const names = { listenHost: parseAddress(address, "--rik-rest").host, hostNames };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const startedMs = performance.now();
    let code: AppError["code"] | "ok" = "ok";
    let name = "unmatched";
    try {
      refuseForeignPages(request, names);
      const [path = ""] = (request.url ?? "").replace(ORIGIN, "").split("?");
      const [, route = "", id = ""] = PATH.exec(path) ?? [];
      const handle = ROUTES[`${request.method} ${route}`];
      if (handle === undefined) {
        request.resume();
        return await send(response, { status: 404 });
      }
      name = route;
      const principal = authenticated(() => callers.of(request.headers, "controller"), response);
      const run = (body: string): Promise<RestAnswer> =>
        handle(options, { principal, body, id: decoded(id) });
      const hasBody = request.method === "POST";
      const answer = hasBody ? withBody(request, memoryAt(request.socket), run) : run("");
      await send(response, await answer);
    } catch (error) {
      if (!(error instanceof RestRefusal)) ({ code } = AppError.from(error, "rik"));
      if (code === "internal" || response.headersSent)
        logger.error({ error: describeChain(error) }, "rik request failed");
      if (response.headersSent) response.destroy(); // a client must not take half a list for a whole one
      else await send(response, toAnswer(error));
      request.resume(); // later data is ignored
    } finally {
      traffic?.record("http", `rik ${name}`, { code, ms: performance.now() - startedMs });
    }
  };
  return listenHttp({ address, flag: "--rik-rest", serve });
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    throw new RestRefusal(
      400,
      `the id in the path is not encoded as paths are: ${id}; write % as %25`,
    );
  }
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
