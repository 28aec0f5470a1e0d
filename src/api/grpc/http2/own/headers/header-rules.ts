import type { IncomingHttpHeaders } from "node:http2";
import type { HeaderField } from "../../../../../lib/http2/header-field.ts";

const NAME = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
const PSEUDO: ReadonlySet<string> = new Set([":method", ":scheme", ":authority", ":path"]);
/** These are about one connection of HTTP/1.1: RFC 9113, section 8.2.2. */
const OF_CONNECTIONS: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "transfer-encoding",
  "upgrade",
]);
/** Of several fields with such a name the first one counts; others are joined. Node does the same. */
const SINGLE: ReadonlySet<string> = new Set([
  "authorization",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "from",
  "host",
  "proxy-authorization",
  "referer",
  "te",
  "user-agent",
]);
const LENGTH = /^\d{1,15}$/;
const TAB = 0x09;
const SPACE = 0x20;
const DELETE = 0x7f;

export interface RequestHead {
  readonly headers: IncomingHttpHeaders;
  /** The announced size of the request; -1: not announced. */
  readonly contentBytes: number;
}

/** The headers of a request; undefined: they are malformed (RFC 9113, sections 8.2 and 8.3). */
export function requestHeadOf(fields: readonly HeaderField[]): RequestHead | undefined {
  const headers = Object.create(null) as Record<string, string>;
  let isPseudoOver = false;
  for (const { name, value } of fields) {
    if (name.startsWith(":")) {
      if (isPseudoOver || !PSEUDO.has(name) || name in headers) return undefined;
      if (!isValue(value)) return undefined;
      headers[name] = value;
    } else {
      isPseudoOver = true;
      if (!isField(name, value)) return undefined;
      const earlier = headers[name];
      if (earlier === undefined) headers[name] = value;
      else if (!SINGLE.has(name)) headers[name] = joined(name, earlier, value);
    }
  }
  if (headers[":method"] === undefined || headers[":scheme"] === undefined) return undefined;
  if ((headers[":path"] ?? "") === "") return undefined;
  if (headers[":authority"]?.includes("@") === true) return undefined; // RFC 9113, 8.3.1
  const { "content-length": announced } = headers;
  if (announced === undefined) return { headers, contentBytes: -1 };
  return LENGTH.test(announced) ? { headers, contentBytes: Number(announced) } : undefined;
}

/** Whether these can be trailers of a request; the server does not use them. */
export const areTrailers = (fields: readonly HeaderField[]): boolean =>
  fields.every(({ name, value }) => isField(name, value));

const joined = (name: string, earlier: string, value: string): string =>
  `${earlier}${name === "cookie" ? "; " : ", "}${value}`;

const isField = (name: string, value: string): boolean =>
  NAME.test(name) &&
  !OF_CONNECTIONS.has(name) &&
  (name !== "te" || value === "trailers") &&
  isValue(value);

/** Without control characters, and without spaces around it. */
function isValue(value: string): boolean {
  const last = value.length - 1;
  for (let at = 0; at <= last; at++) {
    const code = value.charCodeAt(at);
    if (code === SPACE || code === TAB) {
      if (at === 0 || at === last) return false;
    } else if (code < SPACE || code === DELETE) return false;
  }
  return true;
}
