/** Frames of HTTP/2: RFC 9113, sections 4 and 6. */
export const FRAME_HEAD_BYTES = 9;
/** What a peer allows that does not set SETTINGS_MAX_FRAME_SIZE. */
export const FRAME_PAYLOAD_BYTES_MAX = 16_384;

export const FRAME = {
  DATA: 0x0,
  HEADERS: 0x1,
  PRIORITY: 0x2,
  RST_STREAM: 0x3,
  SETTINGS: 0x4,
  PUSH_PROMISE: 0x5,
  PING: 0x6,
  GOAWAY: 0x7,
  WINDOW_UPDATE: 0x8,
  CONTINUATION: 0x9,
} as const;

export const FLAG = {
  ACK: 0x1,
  END_STREAM: 0x1,
  END_HEADERS: 0x4,
  PADDED: 0x8,
  PRIORITY: 0x20,
} as const;
export const PRIORITY_BYTES = 5;

/** Of a SETTINGS frame: RFC 9113, section 6.5.2. */
export const SETTING = {
  HEADER_TABLE_SIZE: 0x1,
  ENABLE_PUSH: 0x2,
  MAX_CONCURRENT_STREAMS: 0x3,
  INITIAL_WINDOW_SIZE: 0x4,
  MAX_FRAME_SIZE: 0x5,
} as const;
export const SETTING_BYTES = 6;
/** Of an error code, and of the increment of a window. */
export const CODE_BYTES = 4;
/** No window may be larger. */
export const WINDOW_BYTES_MAX = 0x7fff_ffff;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

export function encodeFrame({ type, flags, streamId, payload }: Frame): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEAD_BYTES + payload.length);
  frame.writeUIntBE(payload.length, 0, 3);
  frame.writeUInt8(type, 3);
  frame.writeUInt8(flags, 4);
  frame.writeUInt32BE(streamId, 5);
  payload.copy(frame, FRAME_HEAD_BYTES);
  return frame;
}

/** The first frame of these bytes; undefined: it is not complete. */
export function firstFrame(bytes: Buffer): Frame | undefined {
  if (bytes.length < FRAME_HEAD_BYTES) return undefined;
  const end = FRAME_HEAD_BYTES + bytes.readUIntBE(0, 3);
  if (bytes.length < end) return undefined;
  return {
    type: bytes.readUInt8(3),
    flags: bytes.readUInt8(4),
    streamId: bytes.readUInt32BE(5) & 0x7fff_ffff,
    payload: bytes.subarray(FRAME_HEAD_BYTES, end),
  };
}

export interface UnpaddedFrame {
  /** Five bytes of a HEADERS frame with the flag, otherwise none. */
  readonly priority: Buffer;
  readonly content: Buffer;
}

/** A DATA or HEADERS frame without its padding; undefined: padding or priority do not fit. */
export function unpadded({ type, flags, payload }: Frame): UnpaddedFrame | undefined {
  const isPadded = (flags & FLAG.PADDED) !== 0;
  const start = isPadded ? 1 : 0;
  const end = payload.length - (isPadded ? (payload[0] ?? 0) : 0);
  const hasPriority = type === FRAME.HEADERS && (flags & FLAG.PRIORITY) !== 0;
  const contentStart = start + (hasPriority ? PRIORITY_BYTES : 0);
  if (contentStart > end) return undefined;
  return {
    priority: payload.subarray(start, contentStart),
    content: payload.subarray(contentStart, end),
  };
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(CODE_BYTES);
  bytes.writeUInt32BE(value);
  return bytes;
}
