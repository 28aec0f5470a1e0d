import type { Socket } from "node:net";
import { HTTP2 } from "../../../../lib/http2/error-codes.ts";
import { FLAG, FRAME, uint32 } from "../../../../lib/http2/frames.ts";
import { limits } from "../../../../limits.ts";
import type { Connected, ConnectionEvents } from "../transport.ts";
import { FloodGuard } from "./flood-guard.ts";
import { FrameCursor } from "./frame-cursor.ts";
import { FrameHandler, type FrameHost } from "./frame-handler.ts";
import type { RequestHead } from "./headers/header-rules.ts";
import { Http2Error } from "./http2-error.ts";
import { Output, type OutputEvents } from "./output.ts";
import { ourSettings } from "./peer-settings.ts";
import { PingAnswers } from "./ping-answers.ts";
import { Pings } from "./pings.ts";
import { ReceiveWindow } from "./receive-window.ts";
import type { OwnStream } from "./stream.ts";
import { Streams } from "./streams.ts";

const SETTINGS = ourSettings();
const ignore = (): void => undefined;

/**
 * A connection of our own HTTP/2 (RFC 9113), without TLS:
 *
 *   serving ──► closing (GOAWAY is sent, no new streams) ──► over
 *      └──────────────── the client breaks a rule ────────────┘
 *
 * Over: its streams are closed, and input is ignored until the client has closed the socket too, for a second at most.
 */
export class OwnConnection implements FrameHost, OutputEvents {
  readonly streams = new Streams();
  readonly guard = new FloodGuard();
  readonly pings = new Pings();
  readonly pingAnswers = new PingAnswers((payload) =>
    this.#control(FRAME.PING, 0, payload, FLAG.ACK),
  );
  readonly output: Output;
  readonly window: ReceiveWindow;
  readonly #socket: Socket;
  readonly #cursor = new FrameCursor();
  readonly #frames: FrameHandler;
  readonly #events: ConnectionEvents;
  #state: "serving" | "closing" | "over" = "serving";
  /** Closing, without streams. */
  #isEnding = false;
  #isYielding = false;
  #late: NodeJS.Timeout | undefined;

  constructor(socket: Socket, connected: Connected, readsUserParts: boolean) {
    this.#socket = socket;
    this.output = new Output(socket, this);
    this.window = new ReceiveWindow((bytes) =>
      this.#control(FRAME.WINDOW_UPDATE, 0, uint32(bytes)),
    );
    this.#frames = new FrameHandler(this, readsUserParts);
    this.#events = connected(this, socket);
    this.#late = setTimeout(() => this.late(), limits.http2PrefaceMsMax).unref();
    socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    socket.on("error", ignore); // "close" follows
    socket.on("end", () => this.destroy());
    socket.on("close", () => this.#lose());
    socket.resume();
    this.#control(FRAME.SETTINGS, 0, SETTINGS);
    this.output.flush();
  }

  get socket(): Socket | undefined {
    return this.#socket.destroyed ? undefined : this.#socket;
  }

  get isClosing(): boolean {
    return this.#state !== "serving";
  }

  ping(answered: (isThere: boolean) => void): void {
    const payload = this.#state === "over" ? undefined : this.pings.open(answered);
    if (payload === undefined) return answered(false);
    this.#control(FRAME.PING, 0, payload);
  }

  close(): void {
    if (this.#state !== "serving") return;
    this.#state = "closing";
    this.#control(FRAME.GOAWAY, 0, this.#goaway(HTTP2.NO_ERROR, ""));
    this.#endIfIdle();
  }

  destroy(): void {
    this.#socket.destroy();
    this.#lose();
  }

  abandon(): () => void {
    return this.streams.abandon();
  }

  wake(stream: OwnStream): void {
    this.output.wake(stream);
  }

  grant(stream: OwnStream, bytes: number): void {
    this.#control(FRAME.WINDOW_UPDATE, stream.id, uint32(bytes));
  }

  buffered(bytes: number): void {
    this.window.buffered(bytes);
  }

  reset(stream: OwnStream, code: number): void {
    this.#control(FRAME.RST_STREAM, stream.id, uint32(code));
    this.streams.rememberReset(stream.id);
    this.#remove(stream, code);
  }

  confirm({ id }: OwnStream, received: (isReceived: boolean) => void): void {
    let isOver = false;
    const end = (isReceived: boolean): void => {
      if (isOver) return;
      isOver = true;
      this.streams.confirmed(id);
      received(isReceived);
    };
    this.streams.awaitConfirmation(id, () => end(false));
    // Answered or not: a client that has its answer may close the connection at once.
    this.ping(() => end(true));
  }

  resetByPeer(stream: OwnStream, code: number): void {
    this.#remove(stream, code);
  }

  begun(): void {
    clearTimeout(this.#late);
  }

  /** A client that is late gets no explanation. */
  late(): void {
    this.destroy();
  }

  serve(stream: OwnStream, { headers }: RequestHead): void {
    this.#events.onStream(stream, headers);
  }

  settle(stream: OwnStream): void {
    if (!stream.isOpen || !stream.isDone) return;
    this.#remove(stream, HTTP2.NO_ERROR);
  }

  onCarried(): void {
    this.guard.carried();
  }

  onAnswered(stream: OwnStream): void {
    this.guard.ended();
    if (stream.isDone) this.streams.leave(stream);
    else if (stream.isToBeReset) this.reset(stream, HTTP2.NO_ERROR);
  }

  onSent(streams: readonly OwnStream[]): void {
    for (const stream of streams) {
      this.streams.left(stream);
      stream.finish(HTTP2.NO_ERROR);
    }
    this.#endIfIdle();
  }

  #remove(stream: OwnStream, code: number): void {
    this.streams.remove(stream);
    this.output.forget(stream);
    stream.finish(code);
    this.#endIfIdle();
  }

  #endIfIdle(): void {
    if (this.#state !== "closing" || this.#isEnding || !this.streams.isEmpty) return;
    this.#isEnding = true;
    this.output.end();
    this.#linger();
  }

  #receive(chunk: Buffer): void {
    if (this.#state === "over") return;
    this.#cursor.push(chunk);
    if (!this.#isYielding) this.#guarded(() => this.#work());
  }

  /** Handles all complete frames; if these are many, other connections have their turn in between. */
  #work(): void {
    const cursor = this.#cursor;
    let work = 0;
    while (cursor.next()) {
      work += this.#frames.handle(cursor);
      if (this.#state === "over") return;
      if (work >= limits.http2WorkPerTurnMax && cursor.hasMore) return this.#yield();
    }
    cursor.compact();
  }

  #yield(): void {
    this.#isYielding = true;
    this.#socket.pause();
    setImmediate(() => {
      this.#isYielding = false;
      this.#socket.resume();
      if (this.#state === "over") return;
      this.#guarded(() => this.#work());
    });
  }

  #control(type: number, streamId: number, payload: Buffer, flags = 0): void {
    this.#guarded(() => this.output.control(type, flags, streamId, payload));
  }

  /** Errors of the client end its connection; others are mistakes of ours. */
  #guarded(run: () => void): void {
    try {
      run();
    } catch (error) {
      if (!(error instanceof Http2Error)) throw error;
      this.#fail(error);
    }
  }

  #fail({ code, message }: Http2Error): void {
    if (this.#state === "over") return;
    const goaway = this.#goaway(code, message);
    this.output.endWith(goaway);
    this.#lose();
    this.#linger();
  }

  #goaway(code: number, problem: string): Buffer {
    return Buffer.concat([uint32(this.streams.lastId), uint32(code), Buffer.from(problem)]);
  }

  /** The client may read the last frames; a reset at once would drop them. */
  #linger(): void {
    clearTimeout(this.#late);
    this.#late = setTimeout(() => this.#socket.destroy(), limits.http2LingerMsMax).unref();
    this.#socket.once("close", () => clearTimeout(this.#late));
  }

  #lose(): void {
    if (this.#state === "over") return;
    this.#state = "over";
    clearTimeout(this.#late);
    this.#frames.stop();
    this.pings.close();
    this.pingAnswers.close();
    for (const stream of this.streams.takeAll()) stream.finish(HTTP2.CANCEL);
    this.#events.onClose();
  }
}
