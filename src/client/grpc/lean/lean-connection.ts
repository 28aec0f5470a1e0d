import type { IncomingHttpHeaders } from "node:http2";
import type { Duplex } from "node:stream";
import { type Address, formatAddress } from "../../../lib/address.ts";
import {
  encodeFrame,
  FLAG,
  FRAME,
  type Frame,
  uint32,
  unpadded,
} from "../../../lib/http2/frames.ts";
import { HpackDecoder } from "../../../lib/http2/hpack-decoder.ts";
import { encodeLiterals } from "../../../lib/http2/literal-fields.ts";
import { limits } from "../../../limits.ts";
import { CANCEL, REFUSED_STREAM } from "../call-status.ts";
import type { HttpConnection, HttpStream, HttpStreamEvents } from "../http-stream.ts";
import { streamTo } from "../server-stream.ts";
import { FrameReader, Http2Breach } from "./frame-reader.ts";
import { FIRST_WINDOW_BYTES, SendQueue } from "./send-window.ts";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const SETTING_BYTES = 6;
const ENABLE_PUSH = 0x2;
const INITIAL_WINDOW_SIZE = 0x4;
const EMPTY = Buffer.alloc(0);

interface Request {
  readonly id: number;
  readonly events: HttpStreamEvents;
  readonly queue: SendQueue;
  hasHeaders: boolean;
  /** Of its answer, since the server was last told that they were read. */
  unreadBytes: number;
}

/**
 * A connection of HTTP/2 (RFC 9113) with one request at a time, for programs that are over before Node's
 * own client is loaded: that takes 25 ms of CPU, most of it for TLS. Without TLS, pushes and priorities.
 *
 *   idle ⇄ busy ──► over (cancelled, reset, lost, closed): never used again
 */
export class LeanConnection implements HttpConnection {
  readonly #stream: Duplex;
  readonly #authority: string;
  readonly #reader = new FrameReader();
  readonly #decoder = new HpackDecoder({
    tableBytes: limits.http2HeaderTableBytes,
    listBytes: limits.answerHeaderBytesMax,
  });
  #request: Request | undefined;
  #nextId = 1;
  /** A block of headers whose CONTINUATION frames are still to come. */
  #open: { readonly streamId: number; readonly isLast: boolean; block: Buffer } | undefined;
  #sendBytes = FIRST_WINDOW_BYTES;
  #firstStreamBytes = FIRST_WINDOW_BYTES;
  #unreadBytes = 0;
  #keepalive: NodeJS.Timeout | undefined;
  #silence: NodeJS.Timeout | undefined;
  #isOver = false;
  #isClosing = false; // the server takes no more requests

  constructor(address: Address) {
    this.#authority = formatAddress(address);
    this.#stream = streamTo(address).stream;
    this.#stream.on("data", (chunk: Buffer) => this.#onData(chunk));
    this.#stream.on("error", (error) => this.#lose(error));
    this.#stream.on("close", () => this.#lose(new Error("the connection was closed")));
    this.#stream.on("end", () => this.#lose(new Error("the server closed the connection")));
    this.#stream.cork();
    this.#stream.write(PREFACE);
    this.#write(FRAME.SETTINGS, 0, 0, ourSettings());
    this.#write(FRAME.WINDOW_UPDATE, 0, 0, uint32(limits.leanWindowBytes - FIRST_WINDOW_BYTES));
    process.nextTick(() => this.#stream.uncork());
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Whether a request may be sent now. */
  get isIdle(): boolean {
    return this.#request === undefined && !this.#isOver && !this.#isClosing;
  }

  request(headers: Readonly<Record<string, string>>, events: HttpStreamEvents): HttpStream {
    const id = this.#nextId;
    this.#nextId += 2;
    const queue = new SendQueue(id, this.#firstStreamBytes);
    const request: Request = { id, events, queue, hasHeaders: false, unreadBytes: 0 };
    this.#request = request;
    this.#setRef(true);
    this.#keepalive = setInterval(() => this.#ping(), limits.clientKeepaliveMs).unref();
    this.#stream.cork(); // what is sent in one turn goes in one packet
    process.nextTick(() => this.#stream.uncork());
    const all = { ...headers, ":scheme": "http", ":authority": this.#authority };
    this.#write(FRAME.HEADERS, FLAG.END_HEADERS, id, encodeLiterals(fieldsOf(all)));
    const isCurrent = (): boolean => this.#request === request;
    return {
      write: (bytes) => {
        queue.push(bytes);
        if (isCurrent()) this.#flush();
      },
      end: () => {
        queue.end();
        if (isCurrent()) this.#flush();
      },
      cancel: () => {
        if (isCurrent()) this.#cancel();
      },
      pause: () => void (isCurrent() && this.#stream.pause()),
      resume: () => void (isCurrent() && this.#stream.resume()),
    };
  }

  /** Ends its request, too. */
  close(): void {
    this.#lose(new Error("the connection was closed"));
  }

  #write(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (!this.#isOver) this.#stream.write(encodeFrame({ type, flags, streamId, payload }));
  }

  #flush(): void {
    const { frames, taken } = this.#request?.queue.take(this.#sendBytes) ?? {
      frames: [],
      taken: 0,
    };
    this.#sendBytes -= taken;
    if (this.#isOver) return;
    for (const frame of frames) this.#stream.write(frame);
  }

  #onData(chunk: Buffer): void {
    if (this.#isOver) return;
    clearTimeout(this.#silence); // a sign of life
    this.#silence = undefined;
    try {
      this.#reader.push(chunk);
      for (let frame = this.#reader.next(); frame !== undefined; frame = this.#reader.next()) {
        this.#onFrame(frame);
        if (this.#isOver) return;
      }
    } catch (error) {
      const isTheirs = error instanceof Http2Breach;
      this.#lose(isTheirs ? error : new Http2Breach("the answer cannot be read", { cause: error }));
    }
  }

  #onFrame(frame: Frame): void {
    const { type, flags, payload } = frame;
    const isContinued = type === FRAME.CONTINUATION;
    if (isContinued !== (this.#open !== undefined)) throw new Http2Breach("headers are cut off");
    const hasRequest = frame.streamId === this.#request?.id;
    switch (type) {
      case FRAME.SETTINGS:
        if ((flags & FLAG.ACK) === 0) this.#onSettings(payload);
        return;
      case FRAME.PING:
        if ((flags & FLAG.ACK) === 0) this.#write(FRAME.PING, FLAG.ACK, 0, payload);
        return;
      case FRAME.WINDOW_UPDATE:
        return this.#onWindow(frame.streamId, payload.readUInt32BE(0) & 0x7fff_ffff);
      case FRAME.GOAWAY:
        return this.#onGoAway(payload);
      case FRAME.HEADERS:
      case FRAME.CONTINUATION:
        return this.#onHeaders(frame);
      case FRAME.DATA:
        return this.#onBody(frame);
      case FRAME.RST_STREAM:
        if (hasRequest) this.#end(payload.readUInt32BE(0), undefined);
        return;
      case FRAME.PUSH_PROMISE:
        throw new Http2Breach("the server pushes though it must not");
      default: // of an extension
    }
  }

  #onSettings(payload: Buffer): void {
    for (let at = 0; at + SETTING_BYTES <= payload.length; at += SETTING_BYTES) {
      if (payload.readUInt16BE(at) !== INITIAL_WINDOW_SIZE) continue;
      const bytes = payload.readUInt32BE(at + 2);
      // It holds for the request under way, too.
      if (this.#request !== undefined) {
        this.#request.queue.windowBytes += bytes - this.#firstStreamBytes;
      }
      this.#firstStreamBytes = bytes;
    }
    this.#write(FRAME.SETTINGS, FLAG.ACK, 0, EMPTY);
    this.#flush();
  }

  #onWindow(streamId: number, bytes: number): void {
    if (streamId === 0) this.#sendBytes += bytes;
    else if (this.#request?.id === streamId) this.#request.queue.windowBytes += bytes;
    this.#flush();
  }

  #onGoAway(payload: Buffer): void {
    this.#isClosing = true;
    const last = payload.readUInt32BE(0) & 0x7fff_ffff;
    const isUnread = this.#request !== undefined && this.#request.id > last;
    if (this.#request !== undefined && !isUnread) return; // its answer still comes
    this.#lose(
      new Error("the server is closing the connection"),
      isUnread ? REFUSED_STREAM : undefined,
    );
  }

  #onHeaders(frame: Frame): void {
    const content = frame.type === FRAME.HEADERS ? unpadded(frame)?.content : frame.payload;
    if (content === undefined) throw new Http2Breach("padding does not fit");
    this.#open ??= {
      streamId: frame.streamId,
      isLast: (frame.flags & FLAG.END_STREAM) !== 0,
      block: EMPTY,
    };
    const { streamId, isLast } = this.#open;
    if (streamId !== frame.streamId) throw new Http2Breach("headers are cut off");
    const block = Buffer.concat([this.#open.block, content]);
    if (block.length > limits.answerHeaderBytesMax) throw new Http2Breach("headers are too large");
    this.#open.block = block;
    if ((frame.flags & FLAG.END_HEADERS) === 0) return;
    this.#open = undefined;
    const headers = headersOf(this.#decoder, block);
    const request = this.#request;
    if (request?.id !== streamId) return;
    if (request.hasHeaders) request.events.onTrailers(headers);
    else if (!isInterim(headers)) {
      request.hasHeaders = true;
      request.events.onHeaders(headers);
    }
    if (isLast) this.#finish(request);
  }

  #onBody(frame: Frame): void {
    const data = unpadded(frame)?.content;
    const request = this.#request;
    if (data === undefined) throw new Http2Breach("padding does not fit");
    const isLast = (frame.flags & FLAG.END_STREAM) !== 0;
    this.#unreadBytes = this.#acknowledge(0, this.#unreadBytes + frame.payload.length);
    if (request?.id !== frame.streamId) return;
    const unread = request.unreadBytes + frame.payload.length;
    request.unreadBytes = isLast ? 0 : this.#acknowledge(request.id, unread);
    request.events.onData(data);
    if (isLast) this.#finish(request);
  }

  /** Lets the server send more once half of the window is used up. Returns what it was not told of. */
  #acknowledge(streamId: number, unreadBytes: number): number {
    if (unreadBytes < limits.leanWindowBytes / 2) return unreadBytes;
    this.#write(FRAME.WINDOW_UPDATE, 0, streamId, uint32(unreadBytes));
    return 0;
  }

  /** The server has sent all. */
  #finish(request: Request): void {
    if (this.#request !== request) return; // cancelled by its own event
    request.events.onDataEnd();
    this.#end(undefined, undefined);
  }

  #cancel(): void {
    if (this.#request !== undefined)
      this.#write(FRAME.RST_STREAM, 0, this.#request.id, uint32(CANCEL));
    this.#end(CANCEL, undefined);
  }

  /** Of the request. A connection whose request did not run its course is not used again. */
  #end(resetCode: number | undefined, cause: Error | undefined): void {
    const request = this.#request;
    this.#request = undefined;
    clearInterval(this.#keepalive);
    this.#stream.resume();
    const isSpent = resetCode !== undefined || request?.queue.hasEnded === false;
    if (!this.#isOver && (isSpent || this.#isClosing)) {
      this.#isOver = true;
      this.#stream.end(); // after what was sent
    }
    this.#setRef(false);
    request?.events.onClose({ isConnectionGone: cause !== undefined, resetCode, cause });
  }

  #lose(error: Error, resetCode?: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#silence);
    this.#stream.destroy();
    this.#end(resetCode, error);
  }

  /** A server that is gone without a word is noticed while a call waits for it. */
  #ping(): void {
    const { connecting } = this.#stream as Duplex & { readonly connecting?: boolean };
    // It has to wait for us, or was asked already.
    if (connecting === true || this.#stream.isPaused() || this.#silence !== undefined) return;
    this.#write(FRAME.PING, 0, 0, Buffer.alloc(8));
    this.#silence = setTimeout(() => {
      this.#lose(new Error("the server does not answer pings"));
    }, limits.grpcKeepaliveTimeoutMs).unref();
  }

  /** An idle connection does not keep the process. */
  #setRef(isRef: boolean): void {
    const socket = this.#stream as Duplex & { ref?: () => void; unref?: () => void };
    if (isRef) socket.ref?.();
    else socket.unref?.();
  }
}

function ourSettings(): Buffer {
  const payload = Buffer.alloc(2 * SETTING_BYTES);
  payload.writeUInt16BE(ENABLE_PUSH, 0); // 0: off
  payload.writeUInt16BE(INITIAL_WINDOW_SIZE, SETTING_BYTES);
  payload.writeUInt32BE(limits.leanWindowBytes, SETTING_BYTES + 2);
  return payload;
}

/** Those with a colon come first. */
const fieldsOf = (headers: Readonly<Record<string, string>>) =>
  Object.entries(headers)
    .map(([name, value]) => ({ name, value, isSensitive: false }))
    .sort((a, b) => Number(b.name.startsWith(":")) - Number(a.name.startsWith(":")));

const headersOf = (decoder: HpackDecoder, block: Buffer): IncomingHttpHeaders =>
  Object.fromEntries(decoder.decode(block).map(({ name, value }) => [name, value]));

/** "100 Continue" and the like come before the answer. */
const isInterim = (headers: IncomingHttpHeaders): boolean =>
  headers[":status"]?.toString().startsWith("1") === true;
