import type { IncomingMessage, ServerResponse } from "node:http";
import { parseAddress } from "../../../lib/address.ts";
import { AppError, describeChain } from "../../../lib/errors.ts";
import type { Logger } from "../../../ports/logger.ts";
import type { OperationsAccess } from "../../../server/operations/operations.ts";
import { ANONYMOUS, type Principal } from "../../../core/access/principal.ts";
import { byAddress, type Identify } from "../../grpc/identify.ts";
import { addressOf } from "../../grpc/peer-address.ts";
import type { Traffic } from "../../grpc/traffic.ts";
import { type HttpListener, listenHttp } from "../../web/http-listener.ts";
import type { Admission, OidcGuard } from "../../web/oidc/guard.ts";
import { toFailure } from "../documents/status.ts";
import { withBody } from "../http/body.ts";
import { type Exchange, type HttpAnswer, answer, readPath, send } from "../http/exchange.ts";
import { route, type Routes } from "../http/routes.ts";
import { admitPage, type Headers, preflight } from "./cors.ts";
import { serveDocs } from "./docs.ts";
import { type GatewayHost, NoMethod, serveTarget } from "./objects.ts";
import { treeWriter } from "../write/tree-writer.ts";
import { targetOf } from "./uris.ts";

export interface GatewayOptions {
  readonly operations: OperationsAccess;
  readonly identify?: Identify | undefined;
  /** Requires tokens from callers; absent: callers are identified by their address. */
  readonly guard?: OidcGuard | undefined;
  /** The address to listen on: "127.0.0.1:8001". */
  readonly address: string;
  readonly hostNames?: readonly string[] | undefined;
  /** Pages that may call it: "https://console.example.com". Default: none. */
  readonly origins?: readonly string[] | undefined;
  /** The Kubernetes-style API, which the gateway serves as well. */
  readonly routes: Routes;
  readonly logger: Logger;
  readonly traffic: Traffic;
  readonly drainMs?: number | undefined;
}

/** The paths that the Kubernetes-style API serves. */
const KUBERNETES = new Set([
  "api",
  "apis",
  "openapi",
  "version",
  "healthz",
  "livez",
  "readyz",
  "metrics",
]);

/** Serves the tree by the routes of the data model. */
export function createNexusGateway(options: GatewayOptions): Promise<HttpListener> {
  const { address, routes, logger, traffic, origins = [], identify = byAddress } = options;
  const flag = "--nexus-rest";
  const names = {
    listenHost: parseAddress(address, flag).host,
    hostNames: options.hostNames ?? [],
  };
  const host: GatewayHost = { reader: routes.reader, writer: treeWriter(routes) };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const startedMs = performance.now();
    let admitted: Headers = {};
    let name = "unmatched";
    let code: AppError["code"] | "ok" = "ok";
    const tell = (told: HttpAnswer): void =>
      send({ request, response }, { ...told, headers: { ...told.headers, ...admitted } });
    try {
      if (routes.closing.aborted) throw new AppError("unavailable", "the server is stopping");
      admitted = admitPage(request, names, origins);
      const asking = readPath(request.url);
      const admission = await admit(request, asking.path, { identify, guard: options.guard });
      if (admission.kind === "refused") {
        admitted = { ...admitted, "www-authenticate": admission.challenge };
        throw admission.error;
      }
      if (admission.kind !== "caller") {
        name = "login";
        response.setHeader("set-cookie", admission.cookies);
        return tell(sentAway(admission));
      }
      const operations = options.operations.as(admission.principal);
      const exchange = { request, response, operations, ...asking };
      const asked = dispatch(exchange, { host, routes, admitted });
      ({ name } = asked);
      const told = await asked.answer;
      if (told !== undefined) tell(told);
    } catch (error) {
      const known = AppError.from(error, "internal error");
      ({ code } = known);
      if (code === "internal") logger.error({ error: describeChain(error) }, "gateway failed");
      if (response.headersSent) response.destroy();
      else tell(refusal(known));
      request.resume();
    } finally {
      const ms = performance.now() - startedMs;
      traffic.record("http", `nexus rest ${name}`, { code, ms });
    }
  };
  return listenHttp({ address, flag, serve, drainMs: options.drainMs });
}

/** Health checks need no token, and a browser sends preflights without one. */
const OPEN = new Set(["healthz", "livez", "readyz"]);

type Admitted =
  | Exclude<Admission, { readonly kind: "caller" }>
  | { readonly kind: "caller"; readonly principal: Principal };

async function admit(
  request: IncomingMessage,
  [first = ""]: readonly string[],
  { identify, guard }: { readonly identify: Identify; readonly guard: OidcGuard | undefined },
): Promise<Admitted> {
  if (guard === undefined) {
    const address = addressOf(`${request.socket.remoteAddress}:`);
    return { kind: "caller", principal: identify({ address, headers: request.headers }) };
  }
  const isOpen = request.method === "OPTIONS" || OPEN.has(first);
  return isOpen ? { kind: "caller", principal: ANONYMOUS } : guard.admit(request);
}

const sentAway = (admission: Extract<Admitted, { readonly kind: "redirect" | "logged-out" }>) =>
  admission.kind === "redirect"
    ? { ...answer({ message: "Log in" }, 307), headers: { location: admission.location } }
    : answer({ message: "Logged out" });

interface Asked {
  /** For counters: never a caller's path. */
  readonly name: string;
  readonly answer: Promise<HttpAnswer | undefined> | HttpAnswer;
}

function dispatch(
  exchange: Exchange,
  {
    host,
    routes,
    admitted,
  }: { readonly host: GatewayHost; readonly routes: Routes; readonly admitted: Headers },
): Asked {
  const { request, path } = exchange;
  if (request.method === "OPTIONS") return { name: "OPTIONS", answer: preflightAnswer(admitted) };
  if (KUBERNETES.has(path[0] ?? "")) return route(routes, exchange);
  const target = targetOf(path);
  if (target === undefined) return { name: "docs", answer: docs(exchange) };
  const { kind, isList } = target.uri;
  const run = (body: unknown) => serveTarget(host, target, exchange, body);
  const hasBody = ["PUT", "POST", "PATCH"].includes(request.method ?? "");
  return {
    name: `${request.method} ${kind.plural}${isList ? "" : "/name"}`,
    answer: hasBody ? withBody(request, routes.memoryOf(request.socket), run) : run(undefined),
  };
}

function preflightAnswer(admitted: Headers): HttpAnswer {
  if (admitted["access-control-allow-origin"] === undefined) {
    throw new AppError("permission_denied", "pages of other servers may not call this one");
  }
  return { status: 204, body: "", headers: preflight(admitted) };
}

async function docs({ path, request }: Exchange): Promise<HttpAnswer> {
  const isRead = request.method === "GET" || request.method === "HEAD";
  const found = isRead ? await serveDocs(path) : undefined;
  if (found !== undefined) return found;
  throw new AppError("not_found", "Not Found");
}

/** In the shape that clients of the gateway know. */
function refusal(error: AppError): HttpAnswer {
  if (error instanceof NoMethod) {
    return { ...answer({ message: error.message }, 405), headers: { allow: error.allow } };
  }
  const { code, message } = toFailure(error);
  const text = code === 404 ? "Not Found" : message;
  const headers: Headers = code === 429 || code === 503 ? { "retry-after": "1" } : {};
  return { ...answer({ message: text }, code), headers };
}
