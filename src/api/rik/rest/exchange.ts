import type { IncomingMessage, ServerResponse } from "node:http";
import { parseBoundedJson } from "../../../lib/bytes/json-size.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { turns } from "../../../server/loop/in-slices.ts";
import type { ConnectionMemory } from "../../grpc/memory/call-memory.ts";
import { type BodyTerms, receiveBody, requireUtf8 } from "../../web/receive-body.ts";
import { inRikWords } from "../status.ts";

/** The answer to a request. */
export type RestAnswer =
  | { readonly status: number; readonly json: unknown }
  /** A list, or an object with this list as its only field. Items are made while they are sent. */
  | { readonly status: number; readonly items: Iterable<unknown>; readonly field?: string }
  | { readonly status: number; readonly text: string }
  /** Without a body. */
  | { readonly status: number };

/** An error in rik's words: rikctl prints texts unchanged, and takes any JSON for success. */
export class RestRefusal extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(text);
    this.status = status;
  }
}

export const notFound = (text: string): RestRefusal => new RestRefusal(404, text);

const TERMS: BodyTerms = {
  bytesMax: limits.rikBodyBytesMax,
  tooLarge: () => new RestRefusal(413, `a request has at most ${limits.rikBodyBytesMax} bytes`),
};

/** Passes on the whole body, whatever its Content-Type says: rikctl sends none. */
export async function withBody<Result>(
  request: IncomingMessage,
  memory: ConnectionMemory,
  use: (body: string) => Promise<Result>,
): Promise<Result> {
  const { bytes, hold } = await receiveBody(request, memory, TERMS);
  try {
    return await use(requireUtf8(bytes).toString());
  } finally {
    hold.end();
  }
}

export type RestFields = Readonly<Record<string, unknown>>;

export function parseFields(text: string, what = "the body"): RestFields {
  if (text.trim() === "") throw new RestRefusal(400, `${what} is empty; send a JSON object`);
  let value: unknown;
  try {
    value = parseBoundedJson(text, limits);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : "";
    throw new RestRefusal(400, `${what} cannot be read as JSON: ${why}`);
  }
  return asFields(value, what);
}

export function asFields(value: unknown, what: string): RestFields {
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as RestFields;
  throw new RestRefusal(400, `${what} must be a JSON object`);
}

export function textOf(fields: RestFields, name: string): string {
  const value = fields[name];
  if (typeof value === "string") return value;
  const what = value === undefined ? `missing field \`${name}\`` : `${name}: must be a text`;
  throw new RestRefusal(400, what);
}

export function countOf<Absent>(fields: RestFields, name: string, absent: Absent): number | Absent {
  const value = fields[name];
  if (value === undefined || value === null) return absent;
  const { rikReplicasMax: max } = limits;
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= max) {
    return value;
  }
  throw new RestRefusal(400, `${name}: must be a whole number from 0 to ${max}`);
}

/** Of a field whose bounds others check; undefined: it is absent. */
export function optionalCount(fields: RestFields, name: string): number | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= 0) return value;
  throw new RestRefusal(400, `${name}: must be a whole number`);
}

export async function send(response: ServerResponse, answer: RestAnswer): Promise<void> {
  if ("json" in answer) {
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(JSON.stringify(answer.json));
  } else if ("items" in answer) {
    response.writeHead(answer.status, { "content-type": "application/json" });
    await sendItems(response, answer.items, answer.field);
  } else if ("text" in answer) {
    response.writeHead(answer.status, { "content-type": "text/plain; charset=utf-8" });
    response.end(answer.text);
  } else response.writeHead(answer.status).end();
}

/** Each item is made when it is read. */
export function* mapped<Item, Result>(
  items: readonly Item[],
  to: (item: Item) => Result,
): Generator<Result, void> {
  for (const item of items) yield to(item);
}

/** In slices, and only as fast as the client reads: each of 10,000 instances may have a definition of 256 kB. */
async function sendItems(
  response: ServerResponse,
  items: Iterable<unknown>,
  field: string | undefined,
): Promise<void> {
  response.setTimeout(limits.rikUnreadMsMax, () => response.destroy());
  let block = field === undefined ? "[" : `{"${field}":[`;
  let [comma, slices] = ["", 0];
  for (const item of items) {
    block += comma + JSON.stringify(item);
    comma = ",";
    if (block.length < limits.rikListBlockChars) continue;
    const hasRoom = response.write(block);
    block = "";
    if (!hasRoom && !response.closed) await roomIn(response);
    if (response.closed) return;
    await turns.next(++slices);
  }
  response.end(block + (field === undefined ? "]" : "]}"));
}

/** Also when no client is left to read. */
const roomIn = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done).off("close", done);
      resolve();
    };
    response.on("drain", done).on("close", done);
  });

const STATUSES: Readonly<Partial<Record<AppError["code"], number>>> = {
  invalid_argument: 400,
  unprocessable: 400,
  not_found: 404,
  already_exists: 404, // as in rik
  unauthenticated: 401,
  permission_denied: 403,
  conflict: 409,
  exhausted: 429,
  unavailable: 503,
};

export function toAnswer(error: unknown): RestAnswer {
  if (error instanceof RestRefusal) return { status: error.status, text: error.message };
  const { code, message } = inRikWords(AppError.from(error, "internal error"));
  return { status: STATUSES[code] ?? 500, text: message };
}
