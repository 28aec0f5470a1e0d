import type { IncomingMessage, ServerResponse } from "node:http";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";

/** What a request is answered with. */
export type RestAnswer =
  | { readonly status: number; readonly json: unknown }
  | { readonly status: number; readonly text: string }
  /** Without a body. */
  | { readonly status: number };

/** A refusal in rik's words: rikctl prints texts as they are, and takes any JSON for success. */
export class RestRefusal extends Error {
  readonly status: number;

  constructor(status: number, text: string) {
    super(text);
    this.status = status;
  }
}

export const notFound = (text: string): RestRefusal => new RestRefusal(404, text);

/** The whole body, whatever its Content-Type says: rikctl sends none. */
export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > limits.rikBodyBytesMax) {
      throw new RestRefusal(413, `a request has at most ${limits.rikBodyBytesMax} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

export type RestFields = Readonly<Record<string, unknown>>;

export function parseFields(text: string): RestFields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new RestRefusal(400, cause instanceof Error ? cause.message : "is not JSON");
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as RestFields;
  throw new RestRefusal(400, "the body must be a JSON object");
}

export function textOf(fields: RestFields, name: string): string {
  const value = fields[name];
  if (typeof value === "string") return value;
  const what = value === undefined ? `missing field \`${name}\`` : `${name}: must be a text`;
  throw new RestRefusal(400, what);
}

export function countOf(fields: RestFields, name: string, absent: number): number {
  const value = fields[name];
  if (value === undefined || value === null) return absent;
  const { rikReplicasMax: max } = limits;
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= max) {
    return value;
  }
  throw new RestRefusal(400, `${name}: must be a whole number from 0 to ${max}`);
}

/** Of a field whose bounds others know; undefined: it is absent. */
export function optionalCount(fields: RestFields, name: string): number | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= 0) return value;
  throw new RestRefusal(400, `${name}: must be a whole number`);
}

export function send(response: ServerResponse, answer: RestAnswer): void {
  if ("json" in answer) {
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(JSON.stringify(answer.json));
  } else if ("text" in answer) {
    response.writeHead(answer.status, { "content-type": "text/plain; charset=utf-8" });
    response.end(answer.text);
  } else response.writeHead(answer.status).end();
}

const STATUSES: Readonly<Partial<Record<AppError["code"], number>>> = {
  invalid_argument: 400,
  unprocessable: 400,
  not_found: 404,
  already_exists: 404, // as rik has it
  unauthenticated: 401,
  permission_denied: 403,
  conflict: 409,
  exhausted: 429,
  unavailable: 503,
};

export function toAnswer(error: unknown): RestAnswer {
  if (error instanceof RestRefusal) return { status: error.status, text: error.message };
  const { code, message } = AppError.from(error, "internal error");
  return { status: STATUSES[code] ?? 500, text: message };
}
