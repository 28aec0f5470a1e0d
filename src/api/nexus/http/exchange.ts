import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError, invalid } from "../../../lib/errors.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import type { Included } from "../model/table.ts";

/** One request and its answer. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The operations of the caller's principal. */
  readonly operations: Operations;
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

/** The answer of a handler: a document, or nothing when the handler has already answered. */
export interface HttpAnswer {
  readonly status: number;
  readonly body: object | string | Uint8Array;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const answer = (body: HttpAnswer["body"], status = 200, type?: string): HttpAnswer => ({
  status,
  body,
  ...(type === undefined ? {} : { type }),
});

export function send(
  { request, response }: Pick<Exchange, "request" | "response">,
  { status, body, type, headers }: HttpAnswer,
): void {
  if (response.destroyed || response.headersSent) return;
  const isRaw = typeof body === "string" || body instanceof Uint8Array;
  const bytes = Buffer.from(isRaw ? body : JSON.stringify(body));
  response.writeHead(status, {
    "content-type": type ?? "application/json",
    "content-length": bytes.length,
    "cache-control": "no-cache, private",
    ...headers,
    // An unread body would be parsed as the next request.
    ...(request.complete ? {} : { connection: "close" }),
  });
  response.end(request.method === "HEAD" ? undefined : bytes);
}

/** Resolves when the reader can receive more. Throws when it has disconnected. */
export async function writeWhenRoom(
  response: ServerResponse,
  bytes: string | Buffer,
): Promise<void> {
  if (response.destroyed) throw hasLeft();
  if (response.write(bytes)) return;
  const left = new AbortController();
  const leave = (): void => left.abort();
  response.once("close", leave);
  try {
    await once(response, "drain", { signal: left.signal });
  } catch (cause) {
    throw hasLeft(cause);
  } finally {
    response.off("close", leave);
  }
}

const hasLeft = (cause?: unknown): AppError =>
  new AppError("unavailable", "the caller has disconnected", { cause });

/** The path as segments, without trailing slashes. */
export function readPath(url: string | undefined): {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
} {
  try {
    const { pathname, searchParams } = new URL(url ?? "/", "http://here");
    const path = pathname.split("/").map(decodeURIComponent);
    return { path: path.filter((part) => part !== ""), query: searchParams };
  } catch (cause) {
    throw new AppError("invalid_argument", "the URL cannot be read", { cause });
  }
}

export const isSet = (query: URLSearchParams, name: string): boolean =>
  ["true", "1", "t", "T", "TRUE", "True"].includes(query.get(name) ?? "");

/** undefined: it is absent, or empty. */
export const textOf = (query: URLSearchParams, name: string): string | undefined =>
  query.get(name) || undefined;

export function numberOf(query: URLSearchParams, name: string): number | undefined {
  const text = textOf(query, name);
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text))
    throw invalid(name, `must be a whole number, not ${text.slice(0, 40)}`);
  return Number(text);
}

/** How much of an object the rows of a table contain. */
export function includedOf(query: URLSearchParams): Included {
  const text = textOf(query, "includeObject") ?? "Metadata";
  if (text === "Metadata" || text === "Object" || text === "None") return text;
  throw invalid("includeObject", "must be Metadata, Object or None");
}
