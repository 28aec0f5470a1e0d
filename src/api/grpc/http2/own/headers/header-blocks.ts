import { HTTP2 } from "../../../../../lib/http2/error-codes.ts";
import type { HeaderField } from "../../../../../lib/http2/header-field.ts";
import { HpackDecoder } from "../../../../../lib/http2/hpack-decoder.ts";
import { HpackError } from "../../../../../lib/http2/hpack-error.ts";
import { limits } from "../../../../../limits.ts";
import { userPartToBasic } from "../../../user-part/basic-authorization.ts";
import { type RequestHead, requestHeadOf } from "./header-rules.ts";
import { Http2Error } from "../http2-error.ts";

const KNOWN_MAX = 16;
const KNOWN_BYTES_MAX = 256;

interface KnownBlock {
  readonly head: RequestHead | undefined;
}

/**
 * Decodes the header blocks of one client. Most clients send the same few bytes for every call of a method, because their tables have all fields:
 * the result of such a block is known as long as it and other blocks leave the table unchanged.
 */
export class HeaderBlocks {
  readonly #readsUserParts: boolean;
  readonly #decoder = new HpackDecoder({
    tableBytes: limits.http2HeaderTableBytes,
    listBytes: limits.http2HeaderBytesMax,
  });
  readonly #known = new Map<string, KnownBlock>();

  constructor(readsUserParts: boolean) {
    this.#readsUserParts = readsUserParts;
  }

  /** Undefined: the request is malformed. Throws Http2Error when no later block can be decoded either. */
  request(block: Buffer): RequestHead | undefined {
    const key = block.length <= KNOWN_BYTES_MAX ? block.toString("latin1") : undefined;
    const known = key === undefined ? undefined : this.#known.get(key);
    if (known !== undefined) return known.head;
    const before = this.#decoder.tableChanges;
    const fields = this.fields(block);
    const isTooMany = fields.length > limits.http2HeaderFieldsMax;
    const shown = this.#readsUserParts ? userPartToBasic(fields) : fields;
    const head = isTooMany ? undefined : requestHeadOf(shown);
    // A block that changes the table means something else the next time.
    const isRepeatable = before === this.#decoder.tableChanges && this.#known.size < KNOWN_MAX;
    if (key !== undefined && isRepeatable) {
      Object.freeze(head?.headers); // calls share it
      this.#known.set(key, { head });
    }
    return head;
  }

  fields(block: Buffer): HeaderField[] {
    const before = this.#decoder.tableChanges;
    try {
      return this.#decoder.decode(block);
    } catch (cause) {
      if (!(cause instanceof HpackError)) throw cause;
      throw new Http2Error(HTTP2.COMPRESSION_ERROR, cause.message);
    } finally {
      if (this.#decoder.tableChanges !== before) this.#known.clear();
    }
  }
}
