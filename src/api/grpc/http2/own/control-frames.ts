import { FLAG, FRAME, PRIORITY_BYTES } from "../../../../lib/http2/frames.ts";
import { limits } from "../../../../limits.ts";
import type { FrameCursor } from "./frame-cursor.ts";
import type { FrameHost } from "./frame-handler.ts";
import { breach, windowTooLarge, wrongSize } from "./http2-error.ts";
import { firstWindowOf } from "./peer-settings.ts";

const EMPTY = Buffer.alloc(0);
const PING_BYTES = 8;
const GOAWAY_BYTES_MIN = 8;
/** A change of all windows costs as much as a frame for each so many streams. */
const STREAMS_PER_FRAME = 32;

/** Handles frames that carry nothing of a call: settings, pings, priorities, frames of extensions. */
export class ControlFrames {
  readonly #host: FrameHost;
  hasSettings = false;
  /** INITIAL_WINDOW_SIZE of the client. */
  firstWindowBytes: number = limits.http2WindowBytes;

  constructor(host: FrameHost) {
    this.#host = host;
  }

  /** Throws Http2Error. */
  handle(cursor: FrameCursor): void {
    this.#host.guard.control();
    switch (cursor.type) {
      case FRAME.SETTINGS:
        return this.#onSettings(cursor);
      case FRAME.PING:
        return this.#onPing(cursor);
      case FRAME.PRIORITY:
        return onPriority(cursor);
      case FRAME.GOAWAY:
        if (cursor.streamId !== 0) throw breach("GOAWAY of a stream");
        if (cursor.end - cursor.start < GOAWAY_BYTES_MIN) throw wrongSize("GOAWAY");
        return;
      case FRAME.PUSH_PROMISE:
        throw breach("a client must not push");
      default: // of an extension
    }
  }

  #onSettings(cursor: FrameCursor): void {
    const { streamId, flags, start, end } = cursor;
    if (streamId !== 0) throw breach("SETTINGS of a stream");
    const { streams, output, guard } = this.#host;
    if ((flags & FLAG.ACK) !== 0) {
      if (!this.hasSettings) throw breach("no settings at the beginning");
      if (end > start) throw wrongSize("SETTINGS");
      return;
    }
    if (!this.hasSettings) this.#host.begun();
    this.hasSettings = true;
    const windowBytes = firstWindowOf(cursor.payload());
    output.control(FRAME.SETTINGS, FLAG.ACK, 0, EMPTY);
    if (windowBytes === undefined) return;
    guard.control(Math.ceil(streams.size / STREAMS_PER_FRAME));
    const more = windowBytes - this.firstWindowBytes;
    this.firstWindowBytes = windowBytes;
    for (const stream of streams.all()) {
      if (!stream.queue.changeWindow(more)) throw windowTooLarge();
      if (more > 0) output.wake(stream);
    }
  }

  #onPing(cursor: FrameCursor): void {
    if (cursor.streamId !== 0) throw breach("PING of a stream");
    if (cursor.end - cursor.start !== PING_BYTES) throw wrongSize("PING");
    if ((cursor.flags & FLAG.ACK) !== 0) this.#host.pings.answer(cursor.payload());
    else this.#host.pingAnswers.answer(cursor.payload());
  }
}

/** Priorities are deprecated: they are checked and ignored. */
function onPriority({ bytes, streamId, start, end }: FrameCursor): void {
  if (streamId === 0) throw breach("PRIORITY without a stream");
  if (end - start !== PRIORITY_BYTES) throw wrongSize("PRIORITY");
  const dependsOn = bytes.readUInt32BE(start) & 0x7fff_ffff;
  if (dependsOn === streamId) throw breach(`the stream ${streamId} depends on itself`);
}
