import { HTTP2 } from "../../../../lib/http2/error-codes.ts";
import { SETTING, SETTING_BYTES, WINDOW_BYTES_MAX } from "../../../../lib/http2/frames.ts";
import { limits } from "../../../../limits.ts";
import { Http2Error } from "./http2-error.ts";

const FRAME_SIZE_MIN = 16_384;
const FRAME_SIZE_MAX = 16_777_215;

/**
 * Checks a client's settings and returns its last INITIAL_WINDOW_SIZE, if any. The others change nothing: this server pushes nothing, uses no table for
 * its headers, and sends frames of the smallest maximum. Throws Http2Error.
 */
export function firstWindowOf(payload: Buffer): number | undefined {
  if (payload.length % SETTING_BYTES !== 0) {
    throw new Http2Error(HTTP2.FRAME_SIZE_ERROR, "settings are cut off");
  }
  let windowBytes: number | undefined;
  for (let at = 0; at < payload.length; at += SETTING_BYTES) {
    const value = payload.readUInt32BE(at + 2);
    switch (payload.readUInt16BE(at)) {
      case SETTING.ENABLE_PUSH:
        if (value > 1) throw wrong("ENABLE_PUSH");
        break;
      case SETTING.INITIAL_WINDOW_SIZE:
        if (value > WINDOW_BYTES_MAX) {
          throw new Http2Error(HTTP2.FLOW_CONTROL_ERROR, "INITIAL_WINDOW_SIZE is too large");
        }
        windowBytes = value;
        break;
      case SETTING.MAX_FRAME_SIZE:
        if (value < FRAME_SIZE_MIN || value > FRAME_SIZE_MAX) throw wrong("MAX_FRAME_SIZE");
        break;
      default: // of no use to this server, or unknown
    }
  }
  return windowBytes;
}

const wrong = (name: string): Http2Error =>
  new Http2Error(HTTP2.PROTOCOL_ERROR, `${name} is out of range`);

/** The settings of this server. */
export function ourSettings(): Buffer {
  const settings = [
    [SETTING.HEADER_TABLE_SIZE, limits.http2HeaderTableBytes],
    [SETTING.MAX_CONCURRENT_STREAMS, limits.grpcStreamsPerConnectionMax],
  ] as const;
  const payload = Buffer.alloc(settings.length * SETTING_BYTES);
  for (const [at, [name, value]] of settings.entries()) {
    payload.writeUInt16BE(name, at * SETTING_BYTES);
    payload.writeUInt32BE(value, at * SETTING_BYTES + 2);
  }
  return payload;
}
