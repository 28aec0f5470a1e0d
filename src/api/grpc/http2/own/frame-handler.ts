import { HTTP2 } from "../../../../lib/http2/error-codes.ts";
import { CODE_BYTES, FLAG, FRAME, uint32 } from "../../../../lib/http2/frames.ts";
import { limits } from "../../../../limits.ts";
import { ControlFrames } from "./control-frames.ts";
import type { FloodGuard } from "./flood-guard.ts";
import type { FrameCursor } from "./frame-cursor.ts";
import { HeaderBlocks } from "./headers/header-blocks.ts";
import { areTrailers } from "./headers/header-rules.ts";
import { breach, Http2Error, windowTooLarge, wrongSize } from "./http2-error.ts";
import { beginHeaders, contentOf, type HeaderFrames, OpenBlock } from "./headers/open-block.ts";
import type { Output } from "./output.ts";
import type { PingAnswers } from "./ping-answers.ts";
import type { Pings } from "./pings.ts";
import type { ReceiveWindow } from "./receive-window.ts";
import type { RequestHead } from "./headers/header-rules.ts";
import { OwnStream, type StreamHost } from "./stream.ts";
import type { Streams } from "./streams.ts";

/** The connection, as its frames use it. */
export interface FrameHost extends StreamHost {
  readonly streams: Streams;
  readonly output: Output;
  readonly guard: FloodGuard;
  readonly pings: Pings;
  readonly pingAnswers: PingAnswers;
  readonly window: ReceiveWindow;
  readonly isClosing: boolean;
  /** The client has sent its preface and settings. */
  begun(): void;
  /** Headers did not arrive completely in time. */
  late(): void;
  /** Serves a new stream. */
  serve(stream: OwnStream, head: RequestHead): void;
  /** The client has reset this stream. */
  resetByPeer(stream: OwnStream, code: number): void;
  /** After the end of the client's half. */
  settle(stream: OwnStream): void;
}

/** Clients send window updates while they read: these count less than frames that serve nothing. */
const LARGE_UPDATE = 0.25;

/** Handles the frames of one client (RFC 9113, section 6). All methods throw Http2Error where the connection cannot continue. */
export class FrameHandler {
  readonly #host: FrameHost;
  readonly #blocks: HeaderBlocks;
  readonly #control: ControlFrames;
  #open: OpenBlock | undefined;

  constructor(host: FrameHost, readsUserParts: boolean) {
    this.#host = host;
    this.#control = new ControlFrames(host);
    this.#blocks = new HeaderBlocks(readsUserParts);
  }

  stop(): void {
    this.#open?.stop();
  }

  /** Returns the work of the frame, in frames. */
  handle(cursor: FrameCursor): number {
    const { type } = cursor;
    if (!this.#control.hasSettings && type !== FRAME.SETTINGS)
      throw breach("no settings at the beginning");
    if ((type === FRAME.CONTINUATION) !== (this.#open !== undefined)) {
      throw breach("headers are cut off, or continue without a beginning");
    }
    switch (type) {
      case FRAME.DATA:
        this.#onData(cursor);
        return 1;
      case FRAME.HEADERS:
      case FRAME.CONTINUATION:
        return this.#onHeaders(cursor);
      case FRAME.WINDOW_UPDATE:
        this.#onWindowUpdate(cursor);
        return 1;
      case FRAME.RST_STREAM:
        this.#onReset(cursor);
        return limits.http2CallWork;
      default:
        this.#control.handle(cursor);
        return 1;
    }
  }

  #onData(cursor: FrameCursor): void {
    const { streamId, start, end, flags } = cursor;
    if (streamId === 0) throw breach("DATA without a stream");
    const { streams, guard, window } = this.#host;
    window.receive(end - start);
    const content = contentOf(cursor);
    const isLast = (flags & FLAG.END_STREAM) !== 0;
    if (content.length === 0 && !isLast) guard.control();
    const stream = streams.get(streamId);
    if (stream === undefined || !stream.isInputOpen) return this.#onClosed(streamId);
    if (content.length > 0) guard.carried();
    const code = stream.receive(content, end - start);
    if (code !== HTTP2.NO_ERROR) return this.#refuse(streamId, code);
    if (isLast && stream.isOpen) this.#endInput(stream);
  }

  /** A frame of a stream that does not accept it any more. */
  #onClosed(streamId: number): void {
    const { streams, guard } = this.#host;
    if (streamId > streams.lastId) throw breach(`the stream ${streamId} is idle`);
    if (streams.wasReset(streamId)) guard.control();
    else this.#refuse(streamId, HTTP2.STREAM_CLOSED);
  }

  #onHeaders(cursor: FrameCursor): number {
    const { streamId, flags, type } = cursor;
    const isWhole = (flags & FLAG.END_HEADERS) !== 0;
    let head: HeaderFrames;
    if (this.#open === undefined || type === FRAME.HEADERS) {
      if (streamId % 2 === 0) throw breach(`clients have no stream ${streamId}`);
      head = beginHeaders(cursor);
      if (!isWhole) {
        this.#open = new OpenBlock(head, () => this.#host.late());
        return 1;
      }
    } else {
      if (this.#open.head.streamId !== streamId) throw breach("headers of another stream");
      this.#open.continue(cursor.payload());
      if (!isWhole) return 1;
      head = this.#open.whole();
      this.#open = undefined;
    }
    this.#onRequest(head);
    return limits.http2CallWork;
  }

  #onRequest({ streamId, isLast, isSelfDependent, block }: HeaderFrames): void {
    const { streams } = this.#host;
    const stream = streams.get(streamId);
    if (stream !== undefined) return this.#onTrailers(stream, block, isLast);
    if (streamId <= streams.lastId) {
      this.#blocks.fields(block);
      if (streams.wasReset(streamId)) return;
      throw new Http2Error(HTTP2.STREAM_CLOSED, `the stream ${streamId} is closed`);
    }
    streams.lastId = streamId;
    const head = this.#blocks.request(block);
    const isMalformed = head === undefined || (isLast && head.contentBytes > 0);
    if (isMalformed || isSelfDependent) return this.#refuse(streamId, HTTP2.PROTOCOL_ERROR);
    if (this.#host.isClosing || streams.isFull) {
      return this.#refuse(streamId, HTTP2.REFUSED_STREAM);
    }
    const opened = new OwnStream(
      this.#host,
      streamId,
      head.contentBytes,
      this.#control.firstWindowBytes,
    );
    streams.open(opened);
    this.#host.serve(opened, head);
    if (isLast && opened.isOpen) this.#endInput(opened);
  }

  #onTrailers(stream: OwnStream, block: Buffer, isLast: boolean): void {
    const fields = this.#blocks.fields(block);
    if (!stream.isInputOpen) return this.#refuse(stream.id, HTTP2.STREAM_CLOSED);
    if (!isLast || !areTrailers(fields)) return this.#refuse(stream.id, HTTP2.PROTOCOL_ERROR);
    this.#endInput(stream);
  }

  #endInput(stream: OwnStream): void {
    const code = stream.receiveEnd();
    if (code !== HTTP2.NO_ERROR) return this.#refuse(stream.id, code);
    this.#host.settle(stream);
  }

  /** The client broke a rule on one stream: the others continue. */
  #refuse(streamId: number, code: number): void {
    const { streams, guard, output } = this.#host;
    guard.reset();
    const stream = streams.get(streamId);
    if (stream !== undefined) return this.#host.reset(stream, code);
    streams.rememberReset(streamId);
    output.control(FRAME.RST_STREAM, 0, streamId, uint32(code));
  }

  #onReset({ bytes, streamId, start, end }: FrameCursor): void {
    if (end - start !== CODE_BYTES) throw wrongSize("RST_STREAM");
    const { streams, guard } = this.#host;
    if (streamId === 0 || streamId > streams.lastId) throw breach("RST_STREAM of an idle stream");
    guard.reset();
    const code = bytes.readUInt32BE(start);
    const stream = streams.get(streamId) ?? streams.leaving(streamId);
    if (stream !== undefined) this.#host.resetByPeer(stream, code);
    else if (code !== HTTP2.NO_ERROR) streams.refused(streamId);
  }

  #onWindowUpdate({ bytes, streamId, start, end }: FrameCursor): void {
    if (end - start !== CODE_BYTES) throw wrongSize("WINDOW_UPDATE");
    const { streams, guard, output } = this.#host;
    const more = bytes.readUInt32BE(start) & 0x7fff_ffff;
    guard.control(more < limits.http2WindowUpdateBytesMin ? 1 : LARGE_UPDATE);
    if (streamId === 0) {
      if (more === 0) throw breach("a window update of nothing");
      if (!output.changeWindow(more)) throw windowTooLarge();
      return;
    }
    if (streamId > streams.lastId) throw breach(`the stream ${streamId} is idle`);
    const stream = streams.get(streamId);
    if (stream === undefined) return;
    if (more === 0) this.#refuse(streamId, HTTP2.PROTOCOL_ERROR);
    else if (!stream.queue.changeWindow(more)) this.#refuse(streamId, HTTP2.FLOW_CONTROL_ERROR);
    else output.wake(stream);
  }
}
