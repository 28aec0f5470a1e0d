import { AppError, invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { ConnectionMemory } from "../../grpc/memory/call-memory.ts";
import { success, toStatus } from "../documents/status.ts";
import type { Served } from "../model/kinds.ts";
import { DISPLAY_NAME } from "../model/names.ts";
import type { NexusObject } from "../model/object.ts";
import { jsonPatch, mergePatch } from "../model/patch.ts";
import type { Ref } from "../tree/name-index.ts";
import { checkUnknown, readObject, type Received } from "../write/received.ts";
import type { Writer } from "../write/writer.ts";
import { members, withBody } from "./body.ts";
import { answer, type Exchange, type HttpAnswer } from "./exchange.ts";
import { asAsked, type ListHost, selectorOf } from "./lists.ts";

export interface WriteHost extends ListHost {
  readonly writer: Writer;
  readonly memoryOf: (connection: object) => ConnectionMemory;
}

/** The object of a URL. */
export interface ObjectTarget {
  readonly served: Served;
  readonly name: string | undefined;
  readonly isStatus: boolean;
}

interface WriteRequest {
  readonly host: WriteHost;
  readonly exchange: Exchange;
  readonly target: ObjectTarget;
  readonly body: unknown;
}

type Handle = (request: WriteRequest) => Promise<HttpAnswer>;

const METHODS: Readonly<Record<string, Handle>> = {
  POST: post,
  PUT: put,
  PATCH: patch,
  DELETE: remove,
};

export async function write(
  host: WriteHost,
  exchange: Exchange,
  target: ObjectTarget,
): Promise<HttpAnswer> {
  const { request } = exchange;
  const { method = "" } = request;
  const handle = METHODS[method];
  const isOne = target.name !== undefined;
  const fits = method === "DELETE" || (method === "POST") !== isOne;
  if (handle === undefined || !fits) return notAllowed(method);
  return withBody(request, host.memoryOf(request.socket), (body) =>
    handle({ host, exchange, target, body }),
  );
}

const refusal = (code: number, reason: string, message: string): HttpAnswer =>
  answer(toStatus({ code, reason, message }), code);

const notAllowed = (method: string): HttpAnswer =>
  refusal(405, "MethodNotAllowed", `${method} is not supported here`);

function isDry(query: URLSearchParams): boolean {
  const asked = query.getAll("dryRun").filter((text) => text !== "");
  if (asked.some((text) => text !== "All")) throw invalid("dryRun", "must be All");
  return asked.length > 0;
}

/** With the warnings for the client. */
function shown(
  { served, name }: ObjectTarget,
  object: NexusObject,
  warnings: readonly string[] = [],
  status = 200,
): HttpAnswer {
  const [warning] = warnings;
  const text = warning?.replaceAll(/[^ -~]|["\\]/g, "'");
  return {
    ...answer(asAsked(served, object, name), status),
    ...(text === undefined ? {} : { headers: { warning: `299 - "${text}"` } }),
  };
}

async function post({ host, exchange, target, body }: WriteRequest): Promise<HttpAnswer> {
  const { operations, query } = exchange;
  const received = readObject(target.served, body);
  const warnings = checkUnknown(received, query);
  const object = await host.writer.create(operations, target.served, received, isDry(query));
  return shown({ ...target, name: received.name }, object, warnings, 201);
}

/** The present object of a URL. */
interface Present {
  /** Undefined: it always exists. */
  readonly ref: Ref | undefined;
  readonly object: NexusObject;
}

async function presentOf({ host, exchange, target }: WriteRequest): Promise<Present> {
  const { kind } = target.served;
  const { operations, query } = exchange;
  const name = target.name ?? "";
  if (kind.isSingleton) {
    return { ref: undefined, object: await host.reader.get(operations, kind, name) };
  }
  const ref = host.reader.find(kind, name, selectorOf(query));
  return { ref, object: await host.reader.show(operations, ref) };
}

async function put(request: WriteRequest): Promise<HttpAnswer> {
  const received = readObject(request.target.served, request.body);
  if (request.target.isStatus) {
    const gone = lastOf(request);
    if (gone !== undefined) return shown(request.target, gone);
  }
  return replace(request, await presentOf(request), received);
}

/**
 * A share that the server took back while its agent was about to report it: an old agent would retry for
 * five minutes and then end itself, so the server answers that all is done.
 */
function lastOf({ host, target }: WriteRequest): NexusObject | undefined {
  const { tree } = host.reader;
  if (target.served.kind.kind !== "JobInfo" || target.name === undefined) return undefined;
  const isThere = tree.find(target.served.kind, target.name).length > 0;
  return isThere ? undefined : tree.goneShares.get(target.name);
}

async function replace(
  { host, exchange, target }: WriteRequest,
  present: Present,
  received: Received,
): Promise<HttpAnswer> {
  const { operations, query } = exchange;
  const { served, isStatus } = target;
  const { writer } = host;
  if (isStatus) {
    return shown(target, await writer.updateStatus(operations, served, present, received));
  }
  checkName(present, received);
  const warnings = checkUnknown(received, query);
  const object = await writer.update(operations, served, present, received, isDry(query));
  return shown(target, object, warnings);
}

/** Users may continue to use their own name for it. */
function checkName({ object }: Present, { name }: Received): void {
  const { metadata } = object;
  if (["", metadata.name, metadata.labels[DISPLAY_NAME]].includes(name)) return;
  throw invalid("metadata.name", "is not the name in the URL");
}

const PATCHES: Readonly<Record<string, (object: unknown, patch: unknown) => unknown>> = {
  "application/json-patch+json": jsonPatch,
  "application/merge-patch+json": mergePatch,
};

/** The types that kubectl sends otherwise, and how to make it send another. */
const REFUSED_PATCHES: Readonly<Record<string, string>> = {
  "application/apply-patch+yaml":
    "server-side apply is not supported; use kubectl apply without --server-side",
  "application/strategic-merge-patch+json":
    "strategic merge patches are not supported; use --type=merge or --type=json",
};

async function patch(request: WriteRequest): Promise<HttpAnswer> {
  const { exchange, target, body } = request;
  const type = (exchange.request.headers["content-type"] ?? "").split(";")[0] ?? "";
  const apply = PATCHES[type];
  if (apply === undefined) {
    const types = Object.keys(PATCHES).join(" or ");
    const text = REFUSED_PATCHES[type] ?? `a patch is ${types}, not ${type.slice(0, 80)}`;
    return refusal(415, "UnsupportedMediaType", text);
  }
  for (let tries = 1; ; tries++) {
    const present = await presentOf(request);
    const received = readObject(target.served, apply(present.object, body));
    try {
      return await replace(request, present, received);
    } catch (error) {
      // Other clients change it at the same time: a patch that names no version applies to any.
      const isLate = error instanceof AppError && error.code === "conflict";
      const isAny = received.resourceVersion === present.object.metadata.resourceVersion;
      if (!isLate || !isAny || tries >= limits.nexusPatchTries) throw error;
    }
  }
}

async function remove(request: WriteRequest): Promise<HttpAnswer> {
  const { host, exchange, target, body } = request;
  const { operations, query } = exchange;
  const { kind } = target.served;
  if (kind.isSingleton) {
    const text = `there is always one ${kind.kind}: it cannot be deleted`;
    return refusal(405, "MethodNotAllowed", text);
  }
  if (target.isStatus) return notAllowed("DELETE");
  const options = members(body ?? {}, "body");
  const isTrial =
    isDry(query) || (Array.isArray(options["dryRun"]) && options["dryRun"].length > 0);
  if (target.name === undefined) return removeAll(request, isTrial);
  const { ref, object } = await presentOf(request);
  const wanted = members(options["preconditions"] ?? {}, "preconditions");
  const { name, uid, resourceVersion } = object.metadata;
  const isIt =
    (wanted["uid"] ?? uid) === uid &&
    (wanted["resourceVersion"] ?? resourceVersion) === resourceVersion;
  if (!isIt) throw new AppError("conflict", "preconditions: it is another object or version now");
  if (ref !== undefined && !isTrial) await host.writer.remove(operations, ref);
  return answer(success({ name, group: target.served.group, kind: kind.plural, uid }));
}

/** Page by page: other work has its turn in between. */
async function removeAll(
  { host, exchange, target }: WriteRequest,
  isTrial: boolean,
): Promise<HttpAnswer> {
  const { operations, query } = exchange;
  const { kind, group } = target.served;
  const selector = selectorOf(query);
  let from: string | undefined;
  do {
    const limit = limits.nexusListMax;
    const page = await host.reader.page(operations, kind, { selector, limit, from });
    for (const { metadata } of isTrial ? [] : page.objects) {
      const [ref] = host.reader.tree.find(kind, metadata.name);
      if (ref !== undefined) await host.writer.remove(operations, ref);
    }
    from = page.next;
  } while (from !== undefined);
  return answer(success({ group, kind: kind.plural }));
}
