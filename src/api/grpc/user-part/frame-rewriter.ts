import type { HeaderField } from "./header-field.ts";
import { HpackDecoder, type HpackLimits } from "./hpack-decoder.ts";
import { encodeLiterals } from "./literal-fields.ts";

const PREFACE_BYTES = 24;
const HEAD_BYTES = 9;
/** What a server allows that does not set SETTINGS_MAX_FRAME_SIZE. */
const PAYLOAD_BYTES_MAX = 16_384;
const HEADERS = 0x1;
const CONTINUATION = 0x9;
const END_STREAM = 0x1;
const END_HEADERS = 0x4;
const PADDED = 0x8;
const PRIORITY = 0x20;
const PRIORITY_BYTES = 5;
const EMPTY = Buffer.alloc(0);
/** Refers to a field that no table has: its reader ends the connection with COMPRESSION_ERROR. */
const UNREADABLE = Buffer.of(0x80);

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

/** Headers of a request whose CONTINUATION frames are still to come. */
interface OpenBlock {
  readonly streamId: number;
  readonly flags: number;
  readonly priority: Buffer;
  readonly block: Buffer;
}

export interface RewriterOptions extends HpackLimits {
  readonly rewrite: (fields: readonly HeaderField[]) => readonly HeaderField[];
}

/**
 * The bytes of an HTTP/2 client, with other headers. Only HEADERS and CONTINUATION frames are changed, which no flow control
 * counts. The headers that go out use no table, so that the reader's table stays empty while the client's is kept here.
 *
 *   preface ──► frame ⇄ passing (the payload of any other frame, as it comes)
 *                 └──► over: the client broke the protocol
 *
 * It passes on a breach of the protocol in a form that the reader itself refuses: the reader owns the connection, and sends
 * GOAWAY with the right reason. After that it passes on nothing.
 */
export class FrameRewriter {
  readonly #rewrite: RewriterOptions["rewrite"];
  readonly #decoder: HpackDecoder;
  readonly #blockBytesMax: number;
  #input: Buffer = EMPTY;
  /** Bytes that go through as they are before the next frame. */
  #passing = PREFACE_BYTES;
  #isOver = false;
  #open: OpenBlock | undefined;

  constructor(options: RewriterOptions) {
    this.#rewrite = options.rewrite;
    this.#decoder = new HpackDecoder(options);
    this.#blockBytesMax = options.listBytes;
  }

  push(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#input = this.#input.length === 0 ? chunk : Buffer.concat([this.#input, chunk]);
  }

  /** The next bytes that go out; undefined: more has to come in first. */
  pull(): Buffer | undefined {
    while (!this.#isOver && this.#input.length > 0) {
      if (this.#passing > 0) return this.#pass();
      if (this.#input.length < HEAD_BYTES) return undefined;
      const [length, type] = [this.#input.readUIntBE(0, 3), this.#input.readUInt8(3)];
      if (type !== HEADERS && type !== CONTINUATION) {
        if (this.#open !== undefined) return this.#refuse(begin(this.#open), this.#input);
        this.#passing = HEAD_BYTES + length;
        continue;
      }
      if (length > PAYLOAD_BYTES_MAX) return this.#refuse(this.#input.subarray(0, HEAD_BYTES));
      if (this.#input.length < HEAD_BYTES + length) return undefined;
      const out = this.#take(length, type);
      if (out !== undefined) return out;
    }
    return undefined;
  }

  #pass(): Buffer {
    const out = this.#input.subarray(0, this.#passing);
    this.#input = this.#input.subarray(out.length);
    this.#passing -= out.length;
    return out;
  }

  /** A whole HEADERS or CONTINUATION frame. Undefined: more of its block has to come first. */
  #take(length: number, type: number): Buffer | undefined {
    const raw = this.#input.subarray(0, HEAD_BYTES + length);
    this.#input = this.#input.subarray(raw.length);
    const flags = raw.readUInt8(4);
    const streamId = raw.readUInt32BE(5) & 0x7fff_ffff;
    const frame: Frame = { type, flags, streamId, payload: raw.subarray(HEAD_BYTES) };
    const open = this.#open;
    if (type === HEADERS) {
      if (open !== undefined) return this.#refuse(begin(open), raw);
      const begun = beginBlock(frame);
      return begun === undefined ? this.#refuse(raw) : this.#addedTo(begun, flags);
    }
    if (open === undefined) return this.#refuse(raw);
    if (open.streamId !== streamId) return this.#refuse(begin(open), raw);
    const block = Buffer.concat([open.block, frame.payload]);
    return this.#addedTo({ ...open, block }, flags);
  }

  #addedTo(open: OpenBlock, flags: number): Buffer | undefined {
    const unreadable = (): Buffer => this.#refuse(joined({ ...open, block: UNREADABLE }));
    if (open.block.length > this.#blockBytesMax) return unreadable();
    this.#open = (flags & END_HEADERS) === 0 ? open : undefined;
    if (this.#open !== undefined) return undefined;
    try {
      return joined({
        ...open,
        block: encodeLiterals(this.#rewrite(this.#decoder.decode(open.block))),
      });
    } catch {
      return unreadable();
    }
  }

  #refuse(...last: Buffer[]): Buffer {
    this.#isOver = true;
    this.#input = EMPTY;
    this.#open = undefined;
    return Buffer.concat(last);
  }
}

/** Without its padding; undefined: padding or priority do not fit. */
function beginBlock({ flags, streamId, payload }: Frame): OpenBlock | undefined {
  const isPadded = (flags & PADDED) !== 0;
  const start = isPadded ? 1 : 0;
  const end = payload.length - (isPadded ? (payload[0] ?? 0) : 0);
  const blockStart = start + ((flags & PRIORITY) === 0 ? 0 : PRIORITY_BYTES);
  if (blockStart > end) return undefined;
  return {
    streamId,
    flags: flags & (END_STREAM | PRIORITY),
    priority: payload.subarray(start, blockStart),
    block: payload.subarray(blockStart, end),
  };
}

/** Headers that promise more, without them. */
const begin = ({ streamId, flags, priority }: OpenBlock): Buffer =>
  encodeFrame({ type: HEADERS, flags, streamId, payload: priority });

/** As one HEADERS frame and, where that is too small, CONTINUATION frames. */
function joined({ streamId, flags, priority, block }: OpenBlock): Buffer {
  const rest = Buffer.concat([priority, block]);
  const frames: Buffer[] = [];
  for (let at = 0; at === 0 || at < rest.length; at += PAYLOAD_BYTES_MAX) {
    const payload = rest.subarray(at, at + PAYLOAD_BYTES_MAX);
    const last = at + PAYLOAD_BYTES_MAX >= rest.length ? END_HEADERS : 0;
    const type = at === 0 ? HEADERS : CONTINUATION;
    frames.push(encodeFrame({ type, flags: (at === 0 ? flags : 0) | last, streamId, payload }));
  }
  return Buffer.concat(frames);
}

function encodeFrame({ type, flags, streamId, payload }: Frame): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}
