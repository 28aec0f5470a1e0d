import { HpackError } from "./hpack-error.ts";
import { type HeaderField, sizeOf } from "./header-field.ts";

/** The static table: RFC 7541, appendix A. */
const STATIC: readonly HeaderField[] = [
  ":authority",
  ":method=GET",
  ":method=POST",
  ":path=/",
  ":path=/index.html",
  ":scheme=http",
  ":scheme=https",
  ":status=200",
  ":status=204",
  ":status=206",
  ":status=304",
  ":status=400",
  ":status=404",
  ":status=500",
  "accept-charset",
  "accept-encoding=gzip, deflate",
  "accept-language",
  "accept-ranges",
  "accept",
  "access-control-allow-origin",
  "age",
  "allow",
  "authorization",
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-length",
  "content-location",
  "content-range",
  "content-type",
  "cookie",
  "date",
  "etag",
  "expect",
  "expires",
  "from",
  "host",
  "if-match",
  "if-modified-since",
  "if-none-match",
  "if-range",
  "if-unmodified-since",
  "last-modified",
  "link",
  "location",
  "max-forwards",
  "proxy-authenticate",
  "proxy-authorization",
  "range",
  "referer",
  "refresh",
  "retry-after",
  "server",
  "set-cookie",
  "strict-transport-security",
  "transfer-encoding",
  "user-agent",
  "vary",
  "via",
  "www-authenticate",
].map((entry) => {
  const [name = "", value = ""] = entry.split("=");
  return { name, value, isSensitive: false };
});

/** Fields that a client refers to by number: the static ones, then those that it sent, newest first. */
export class HeaderTable {
  readonly #sizeMax: number;
  /** Oldest first. */
  readonly #fields: HeaderField[] = [];
  #size = 0;
  #capacity: number;
  changes = 0;

  /** `sizeMax`: the limit of the server's settings; clients may choose less. */
  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
    this.#capacity = sizeMax;
  }

  at(index: number): HeaderField {
    const field = STATIC[index - 1] ?? this.#fields.at(-(index - STATIC.length));
    if (index === 0 || field === undefined) throw new HpackError(`there is no field ${index}`);
    return field;
  }

  add(field: HeaderField): void {
    this.changes++;
    this.#evictTo(this.#capacity - sizeOf(field));
    if (sizeOf(field) > this.#capacity) return;
    this.#fields.push(field);
    this.#size += sizeOf(field);
  }

  resize(capacity: number): void {
    if (capacity > this.#sizeMax) throw new HpackError(`a table of ${capacity} is too large`);
    this.changes++;
    this.#capacity = capacity;
    this.#evictTo(capacity);
  }

  #evictTo(size: number): void {
    while (this.#size > Math.max(0, size)) {
      const oldest = this.#fields.shift();
      if (oldest === undefined) return;
      this.#size -= sizeOf(oldest);
    }
  }
}
