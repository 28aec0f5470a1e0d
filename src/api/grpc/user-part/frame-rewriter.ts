import {
  encodeFrame,
  FLAG,
  FRAME,
  FRAME_HEAD_BYTES,
  FRAME_PAYLOAD_BYTES_MAX,
  type Frame,
  unpadded,
} from "../../../lib/http2/frames.ts";
import type { HeaderField } from "../../../lib/http2/header-field.ts";
import { HpackDecoder, type HpackLimits } from "../../../lib/http2/hpack-decoder.ts";
import { encodeLiterals } from "../../../lib/http2/literal-fields.ts";

const PREFACE_BYTES = 24;
const EMPTY = Buffer.alloc(0);
/** Refers to a field that no table has: its reader ends the connection with COMPRESSION_ERROR. */
const UNREADABLE = Buffer.of(0x80);

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
 * Rewrites the headers in the bytes of an HTTP/2 client. It changes only HEADERS and CONTINUATION frames, which flow control does not
 * count. The rewritten headers use no table: the reader's table stays empty, and this class keeps the client's.
 *
 *   preface ──► frame ⇄ passing (the payload of any other frame, as it comes)
 *                 └──► over: the client broke the protocol
 *
 * It passes on a protocol violation in a form that the reader itself rejects: the reader owns the connection, and sends GOAWAY with the
 * right reason. After that it passes on nothing.
 */
export class FrameRewriter {
  readonly #rewrite: RewriterOptions["rewrite"];
  readonly #decoder: HpackDecoder;
  readonly #blockBytesMax: number;
  #input: Buffer = EMPTY;
  /** Bytes that pass unchanged before the next frame. */
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

  /** The next output bytes; undefined: it needs more input first. */
  pull(): Buffer | undefined {
    while (!this.#isOver && this.#input.length > 0) {
      if (this.#passing > 0) return this.#pass();
      if (this.#input.length < FRAME_HEAD_BYTES) return undefined;
      const [length, type] = [this.#input.readUIntBE(0, 3), this.#input.readUInt8(3)];
      if (type !== FRAME.HEADERS && type !== FRAME.CONTINUATION) {
        if (this.#open !== undefined) return this.#refuse(begin(this.#open), this.#input);
        this.#passing = FRAME_HEAD_BYTES + length;
        continue;
      }
      if (length > FRAME_PAYLOAD_BYTES_MAX)
        return this.#refuse(this.#input.subarray(0, FRAME_HEAD_BYTES));
      if (this.#input.length < FRAME_HEAD_BYTES + length) return undefined;
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

  /** Handles a complete HEADERS or CONTINUATION frame. Undefined: more of its block has to come first. */
  #take(length: number, type: number): Buffer | undefined {
    const raw = this.#input.subarray(0, FRAME_HEAD_BYTES + length);
    this.#input = this.#input.subarray(raw.length);
    const flags = raw.readUInt8(4);
    const streamId = raw.readUInt32BE(5) & 0x7fff_ffff;
    const frame: Frame = { type, flags, streamId, payload: raw.subarray(FRAME_HEAD_BYTES) };
    const open = this.#open;
    if (type === FRAME.HEADERS) {
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
    this.#open = (flags & FLAG.END_HEADERS) === 0 ? open : undefined;
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

/** Undefined: padding or priority do not fit. */
function beginBlock(frame: Frame): OpenBlock | undefined {
  const { priority, content: block } = unpadded(frame) ?? {};
  if (priority === undefined || block === undefined) return undefined;
  const flags = frame.flags & (FLAG.END_STREAM | FLAG.PRIORITY);
  return { streamId: frame.streamId, flags, priority, block };
}

/** Headers that announce more, without them. */
const begin = ({ streamId, flags, priority }: OpenBlock): Buffer =>
  encodeFrame({ type: FRAME.HEADERS, flags, streamId, payload: priority });

/** Writes one HEADERS frame and, where that is too small, CONTINUATION frames. */
function joined({ streamId, flags, priority, block }: OpenBlock): Buffer {
  const rest = Buffer.concat([priority, block]);
  const frames: Buffer[] = [];
  for (let at = 0; at === 0 || at < rest.length; at += FRAME_PAYLOAD_BYTES_MAX) {
    const payload = rest.subarray(at, at + FRAME_PAYLOAD_BYTES_MAX);
    const last = at + FRAME_PAYLOAD_BYTES_MAX >= rest.length ? FLAG.END_HEADERS : 0;
    const type = at === 0 ? FRAME.HEADERS : FRAME.CONTINUATION;
    frames.push(encodeFrame({ type, flags: (at === 0 ? flags : 0) | last, streamId, payload }));
  }
  return Buffer.concat(frames);
}
