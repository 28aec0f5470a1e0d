import { AppError } from "../../../lib/errors.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import { wantsTable } from "../documents/accept.ts";
import { api, apis, oneGroup, resourcesOf, versionOf } from "../documents/discovery.ts";
import {
  OPENAPI_V2_PROTOBUF,
  openApiV2,
  openApiV2Protobuf,
  openApiV3,
  openApiV3Index,
} from "../documents/openapi.ts";
import { toStatus } from "../documents/status.ts";
import { servedAt, VERSION } from "../model/kinds.ts";
import { tableHead, toRow } from "../model/table.ts";
import { type HttpAnswer, answer, type Exchange, includedOf, isSet } from "./exchange.ts";
import { events } from "./events.ts";
import { asAsked, list, selectorOf } from "./lists.ts";
import { watch, type WatchHost } from "./watches.ts";
import { type ObjectTarget, write, type WriteHost } from "./writes.ts";

export interface Routes extends WatchHost, WriteHost {
  readonly version: string;
  readonly metrics: ((operations: Operations) => Promise<string>) | undefined;
}

interface Routed {
  /** For counters: never a caller's path. */
  readonly name: string;
  readonly answer: Promise<HttpAnswer | undefined> | HttpAnswer;
}

const notHere = (): AppError =>
  new AppError("not_found", "the server could not find the requested resource");

export function route(routes: Routes, exchange: Exchange): Routed {
  const { path, request } = exchange;
  const [first, group, version, plural, name, sub, ...rest] = path;
  const method = request.method ?? "GET";
  if (first === "apis" && group !== undefined && plural !== undefined) {
    const served = version === VERSION ? servedAt(group, plural) : undefined;
    if (served === undefined || rest.length > 0 || (sub ?? "status") !== "status") throw notHere();
    const at = `${served.kind.plural}${name === undefined ? "" : "/name"}${sub === undefined ? "" : "/status"}`;
    const target: ObjectTarget = { served, name, isStatus: sub === "status" };
    return { name: `${method} ${at}`, answer: toObjects(routes, exchange, target) };
  }
  if (method !== "GET" && method !== "HEAD") throw notHere();
  return { name: `GET ${first ?? "/"}`, answer: toDocument(routes, exchange) };
}

async function toObjects(
  routes: Routes,
  exchange: Exchange,
  { served, name, isStatus }: ObjectTarget,
): Promise<HttpAnswer | undefined> {
  const { request, query, operations } = exchange;
  if (request.method === "GET" || request.method === "HEAD") {
    if (name === undefined) {
      if (isSet(query, "watch")) await watch(routes, served, exchange);
      else await list(routes, served, exchange);
      return undefined;
    }
    const found = await routes.reader.get(operations, served.kind, name, selectorOf(query));
    const object = asAsked(served, found, name);
    if (!wantsTable(request.headers.accept)) return answer(object);
    const { resourceVersion } = object.metadata;
    const rows = [toRow(served.kind, object, routes.nowMs(), includedOf(query))];
    return {
      ...answer({ ...tableHead(served.kind, { resourceVersion }), rows }),
      type: "application/json;as=Table;v=v1;g=meta.k8s.io",
    };
  }
  return write(routes, exchange, { served, name, isStatus });
}

async function toDocument(routes: Routes, exchange: Exchange): Promise<HttpAnswer> {
  const { path, request } = exchange;
  const { version } = routes;
  const { accept } = request.headers;
  const found = (body: object | string | undefined): HttpAnswer => {
    if (body === undefined) throw notHere();
    return answer(body);
  };
  const [first = "", second, third, fourth, fifth] = path;
  switch (`${first}/${path.length}`) {
    case "/0":
      return answer({ paths: PATHS });
    case "version/1":
      return answer(versionOf(version));
    case "healthz/1":
    case "livez/1":
    case "readyz/1":
      if (!exchange.operations.isReady()) throw new AppError("unavailable", "not ready");
      return { ...answer("ok"), type: "text/plain; charset=utf-8" };
    case "metrics/1":
      if (routes.metrics === undefined) throw notHere();
      return {
        ...answer(await routes.metrics(exchange.operations)),
        type: "text/plain; version=0.0.4; charset=utf-8",
      };
    case "api/1":
      return answer(api(accept).body, 200, api(accept).type);
    case "apis/1":
      return answer(apis(accept).body, 200, apis(accept).type);
    case "api/2":
      return found(second === VERSION ? resourcesOf("") : undefined);
    case "apis/2":
      return found(oneGroup(second ?? ""));
    case "apis/3":
      return found(third === VERSION ? resourcesOf(second ?? "") : undefined);
    case "api/3":
      if (second !== VERSION || third !== "events") throw notHere();
      return events(routes, exchange);
    case "api/5":
      if (second !== VERSION || third !== "namespaces" || fifth !== "events") throw notHere();
      return events(routes, exchange);
    case "openapi/2":
      if (second === "v3") return found(openApiV3Index(version));
      if (second !== "v2") throw notHere();
      return openApiV2Answer(version, accept);
    case "openapi/5":
      if (second !== "v3" || third !== "apis" || fifth !== VERSION) throw notHere();
      return found(openApiV3(fourth ?? "", version));
    default:
      throw notHere();
  }
}

/** As JSON, or as the message that kubectl reads. */
function openApiV2Answer(version: string, accept: string | undefined): HttpAnswer {
  const types = (accept ?? "*/*").split(",").map((range) => range.split(";")[0]?.trim() ?? "");
  if (types.some((type) => JSON_TYPES.has(type))) return answer(openApiV2(version));
  if (types.includes(OPENAPI_V2_PROTOBUF.asked)) {
    return answer(openApiV2Protobuf(version), 200, OPENAPI_V2_PROTOBUF.sent);
  }
  const message = "only application/json is served here; /openapi/v3 has the same";
  const code = 406;
  return answer(toStatus({ code, reason: "NotAcceptable", message }), code);
}

const JSON_TYPES: ReadonlySet<string> = new Set(["application/json", "*/*", "application/*"]);

const PATHS = [
  "/api",
  "/api/v1",
  "/apis",
  "/healthz",
  "/livez",
  "/metrics",
  "/openapi/v2",
  "/openapi/v3",
  "/readyz",
  "/version",
];
