import { AppError, invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import { type HttpAnswer, answer, type Exchange, numberOf, textOf } from "../http/exchange.ts";
import { type Members, members } from "../http/body.ts";
import { type Child, nodeOf } from "../model/children.ts";
import { specFields, unknownFields } from "../model/fields.ts";
import type { NexusKind } from "../model/kinds.ts";
import { DEFAULT, DISPLAY_NAME, namedKinds, type Path } from "../model/names.ts";
import type { NexusObject } from "../model/object.ts";
import { selectorOf } from "../http/lists.ts";
import { below } from "../model/selectors.ts";
import { notFound, type Reader } from "../tree/reader.ts";
import type { TreeWriter } from "../write/tree-writer.ts";
import { addressOf, type RouteTarget } from "./uris.ts";

export interface GatewayHost {
  readonly reader: Reader;
  readonly writer: TreeWriter;
}

const LIMIT_DEFAULT = 500;
const said = (message: string, status = 200): HttpAnswer => answer({ message }, status);

/** Answers one request to a target. */
export async function serveTarget(
  host: GatewayHost,
  target: RouteTarget,
  exchange: Exchange,
  body: unknown,
): Promise<HttpAnswer> {
  const method = exchange.request.method ?? "GET";
  checkNames(target, exchange.query);
  if (target.part !== undefined) return servePart(host, target, target.part, exchange);
  const { isList } = target.uri;
  if (method === "GET" || method === "HEAD") {
    return isList
      ? list(host.reader, target.uri.kind, target.path, exchange)
      : answer(shown(await objectAt(host.reader, target, exchange.operations)));
  }
  if (isList) {
    if (method === "POST") return post(host, target, exchange, body);
    throw noMethod(method, "GET, POST");
  }
  switch (method) {
    case "PUT":
      return put(host, target, exchange, body);
    case "PATCH":
      return patch(host, target, exchange, body);
    case "DELETE":
      return remove(host, target, exchange);
    default:
      throw noMethod(method, "GET, PUT, PATCH, DELETE");
  }
}

/** An unsupported method. */
export class NoMethod extends AppError {
  readonly allow: string;

  constructor(method: string, allow: string) {
    super("invalid_argument", `${method} is not possible here, only ${allow}`);
    this.allow = allow;
  }
}
const noMethod = (method: string, allow: string): AppError => new NoMethod(method, allow);

/** Names may be query parameters too; a singleton has only one. */
function checkNames({ uri: { kind, isList }, path }: RouteTarget, query: URLSearchParams): void {
  const names = namedKinds(kind);
  for (const [at, one] of names.entries()) {
    const told = query.get(nodeOf(one));
    if (told === null || (isList && one === kind) || told === path[at]) continue;
    throw invalid(nodeOf(one), `is ${JSON.stringify(path[at])} in the path`);
  }
  for (const one of kind.isSingleton ? [kind] : []) {
    const told = query.get(nodeOf(one));
    if (told !== null && told !== DEFAULT) {
      throw invalid(nodeOf(one), `there is only one, called ${DEFAULT}`);
    }
  }
}

async function servePart(
  { reader }: GatewayHost,
  target: RouteTarget,
  part: "status" | Child,
  exchange: Exchange,
): Promise<HttpAnswer> {
  const method = exchange.request.method ?? "GET";
  if (method !== "GET" && method !== "HEAD") throw noMethod(method, "GET");
  const object = await objectAt(reader, target, exchange.operations);
  if (part === "status") return answer(statusOf(object));
  return list(reader, part.kind, target.path, exchange);
}

function objectAt(
  reader: Reader,
  { uri: { kind }, path }: Pick<RouteTarget, "uri" | "path">,
  operations: Operations,
): Promise<NexusObject> {
  if (kind.isSingleton) return reader.get(operations, kind, DEFAULT);
  const ref = reader.tree.at(kind, path);
  if (ref === undefined) throw notFound(kind, path.at(-1) ?? "");
  return reader.show(operations, ref);
}

const statusOf = ({ status }: NexusObject): object =>
  status.state === undefined ? {} : { state: status.state };

/** Without fields that only clients of Kubernetes need. */
function shown(object: NexusObject): { readonly spec: object; readonly status: object } {
  const spec = Object.entries(object.spec ?? {}).filter(([name]) => !name.endsWith("Gvk"));
  return { spec: Object.fromEntries(spec), status: statusOf(object) };
}

/** A list is an array, as clients expect; headers show whether there is more. A page may be short and still have a next one. */
async function list(
  reader: Reader,
  kind: NexusKind,
  parents: Path,
  { operations, query, request }: Exchange,
): Promise<HttpAnswer> {
  const limit = numberOf(query, "limit") || LIMIT_DEFAULT;
  if (limit > limits.pageSizeMax) throw invalid("limit", `must be at most ${limits.pageSizeMax}`);
  const selector = below(selectorOf(query), kind, parents);
  const objects: NexusObject[] = [];
  let from = textOf(query, "continue");
  do {
    const page = await reader.page(operations, kind, { selector, limit, from });
    objects.push(...page.objects);
    from = page.next;
  } while (objects.length === 0 && from !== undefined);
  const items = objects.map((object) => ({
    name: object.metadata.labels[DISPLAY_NAME],
    ...shown(object),
  }));
  if (from === undefined) return answer(items);
  const next = new URL(request.url ?? "/", "http://here");
  next.searchParams.set("continue", from);
  return {
    ...answer(items),
    headers: { link: `<${next.pathname}${next.search}>; rel="next"`, "x-continue": from },
  };
}

function specOf(kind: NexusKind, body: unknown): Members {
  const spec = members(body ?? {}, "body");
  const unknown = unknownFields(spec, specFields(kind), "spec");
  if (unknown.length === 0) return spec;
  const known = Object.keys(specFields(kind)).filter((name) => !name.endsWith("Gvk"));
  throw invalid(
    (unknown[0] ?? "").slice(0, 80),
    known.length === 0
      ? `is not known: ${kind.kind} has no fields`
      : `is not known; known are ${known.join(", ")}`,
  );
}

async function post(
  { writer }: GatewayHost,
  { uri: { kind }, path }: RouteTarget,
  { operations }: Exchange,
  body: unknown,
): Promise<HttpAnswer> {
  const { name, spec, ...others } = members(body ?? {}, "body");
  if (typeof name !== "string" || name === "") throw invalid("name", "must be a text");
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw invalid(unknown.slice(0, 80), "is not known; known are name, spec");
  }
  const whole = [...path, name];
  await writer.create(operations, kind, whole, specOf(kind, spec));
  return { ...said(name, 201), headers: { location: addressOf(kind, whole) } };
}

async function put(
  { reader, writer }: GatewayHost,
  { uri: { kind }, path }: RouteTarget,
  { operations, query }: Exchange,
  body: unknown,
): Promise<HttpAnswer> {
  const spec = specOf(kind, body);
  const exists = (): boolean => kind.isSingleton || reader.tree.at(kind, path) !== undefined;
  if (!exists()) {
    await writer.create(operations, kind, path, spec);
    return said(path.at(-1) ?? DEFAULT, 201);
  }
  if (query.get("update_if_exists") === "false") return said("Already Exists.", 403);
  await writer.replace(operations, kind, path, spec);
  return said("Updated successfully");
}

async function patch(
  { reader, writer }: GatewayHost,
  target: RouteTarget,
  { operations }: Exchange,
  body: unknown,
): Promise<HttpAnswer> {
  const { kind } = target.uri;
  const given = specOf(kind, body);
  const object = await objectAt(reader, target, operations);
  const merged = Object.entries({ ...object.spec, ...given }).filter(([, value]) => value !== null);
  await writer.replace(operations, kind, target.path, Object.fromEntries(merged));
  return said("Patch applied successfully");
}

async function remove(
  { reader, writer }: GatewayHost,
  target: RouteTarget,
  { operations }: Exchange,
): Promise<HttpAnswer> {
  const { kind } = target.uri;
  if (kind.isSingleton) throw noMethod("DELETE", "GET, PUT, PATCH");
  await objectAt(reader, target, operations);
  await writer.remove(operations, kind, target.path);
  return { ...answer(""), type: "text/plain; charset=utf-8" };
}
