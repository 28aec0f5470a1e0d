import type { Socket } from "node:net";
import { encodeFrame, FRAME, WINDOW_BYTES_MAX } from "../../../../lib/http2/frames.ts";
import { HTTP2 } from "../../../../lib/http2/error-codes.ts";
import { limits } from "../../../../limits.ts";
import { sharedBatch } from "./frame-batch.ts";
import { Http2Error } from "./http2-error.ts";
import type { OwnStream } from "./stream.ts";

/** What Output tells its connection. */
export interface OutputEvents {
  /** Bytes of an answer are in the batch. */
  onCarried(): void;
  /** The last frame of the answer is in the batch. */
  onAnswered(stream: OwnStream): void;
  /** The socket has all bytes of these streams. */
  onSent(streams: readonly OwnStream[]): void;
}

/**
 * Sends the frames of one connection. All frames of a turn of the event loop go in one write. While the socket does not accept more, frames wait where they
 * are limited: in the queues of streams, and here for `http2ControlQueuedMax` answers to frames that carry no call.
 */
export class Output {
  readonly #socket: Socket;
  readonly #events: OutputEvents;
  #control: Buffer[] = [];
  /** Streams with something to send, in the order of their turns. */
  readonly #ready = new Set<OwnStream>();
  /** Those that wait for the connection's window. */
  readonly #starved = new Set<OwnStream>();
  #windowBytes: number = limits.http2WindowBytes;
  #isFirstBlock = true;
  #isScheduled = false;
  /** The socket has enough; "drain" follows. */
  #isBlocked = false;
  #isEnding = false;

  constructor(socket: Socket, events: OutputEvents) {
    this.#socket = socket;
    this.#events = events;
    socket.on("drain", () => {
      this.#isBlocked = false;
      this.flush();
    });
  }

  /** A frame that carries nothing of an answer. Throws Http2Error when the peer reads none of them. */
  control(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (this.#control.length >= limits.http2ControlQueuedMax) {
      throw new Http2Error(HTTP2.ENHANCE_YOUR_CALM, "the client does not read");
    }
    this.#control.push(encodeFrame({ type, flags, streamId, payload }));
    this.#schedule();
  }

  wake(stream: OwnStream): void {
    if (this.#starved.has(stream)) return;
    this.#ready.add(stream);
    this.#schedule();
  }

  forget(stream: OwnStream): void {
    this.#ready.delete(stream);
    this.#starved.delete(stream);
  }

  /** The peer accepts more bytes. Returns whether its window is still allowed. */
  changeWindow(bytes: number): boolean {
    this.#windowBytes += bytes;
    if (this.#starved.size > 0) this.#schedule();
    return this.#windowBytes <= WINDOW_BYTES_MAX;
  }

  /** Ends the connection after all frames that wait. */
  end(): void {
    this.#isEnding = true;
    this.#schedule();
  }

  /** Sends this frame, and ends the connection without anything else. */
  endWith(goaway: Buffer): void {
    this.#control = [];
    this.#ready.clear();
    this.#starved.clear();
    this.#socket.end(encodeFrame({ type: FRAME.GOAWAY, flags: 0, streamId: 0, payload: goaway }));
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isBlocked) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.flush();
    });
  }

  flush(): void {
    if (this.#isBlocked || this.#socket.destroyed || this.#socket.writableEnded) return;
    const batch = sharedBatch;
    const control = this.#control;
    if (control.length > 0) this.#control = [];
    for (const frame of control) batch.frames(frame);
    const turn = new Turn();
    const isFull = (): boolean => batch.bytes >= limits.http2WriteBytesMax;
    for (const stream of this.#ready) {
      if (isFull()) break;
      this.#ready.delete(stream);
      this.#send(stream, turn);
    }
    while (this.#windowBytes > 0 && !isFull()) {
      const { value: stream } = this.#starved.values().next();
      if (stream === undefined) break;
      this.#starved.delete(stream);
      this.#send(stream, turn);
    }
    if (batch.bytes > 0) this.#write(batch.take(), turn);
    for (const stream of turn.drained) stream.drained();
    const hasMore = this.#ready.size > 0 || (this.#starved.size > 0 && this.#windowBytes > 0);
    if (hasMore) this.#schedule();
    else if (this.#isEnding && this.#control.length === 0) this.#socket.end();
  }

  #send(stream: OwnStream, turn: Turn): void {
    const { queue } = stream;
    const { hasBlock, hasEnded } = queue;
    const { pause, bytes } = queue.send(sharedBatch, this.#windowBytes, this.#isFirstBlock);
    if (hasBlock) this.#isFirstBlock = false;
    this.#windowBytes -= bytes;
    if (bytes > 0) this.#events.onCarried();
    for (const taken of queue.takeTakens()) turn.taken.push(taken);
    if (pause === "turn") this.#ready.add(stream);
    else if (pause === "connection") this.#starved.add(stream);
    if (queue.takeDrained()) turn.drained.push(stream);
    if (hasEnded || !queue.hasEnded) return;
    this.#events.onAnswered(stream);
    if (stream.isDone) turn.done.push(stream);
  }

  #write(parts: readonly Buffer[], { taken, done }: Turn): void {
    const socket = this.#socket;
    const written =
      taken.length + done.length === 0
        ? undefined
        : (): void => {
            for (const each of taken) each();
            this.#events.onSent(done);
          };
    if (parts.length > 1) socket.cork();
    let isAccepted = true;
    for (const [at, part] of parts.entries()) {
      isAccepted = socket.write(part, at === parts.length - 1 ? written : undefined);
    }
    if (parts.length > 1) socket.uncork();
    this.#isBlocked = !isAccepted;
  }
}

/** What follows when the frames of one turn are written. */
class Turn {
  readonly taken: (() => void)[] = [];
  readonly drained: OwnStream[] = [];
  readonly done: OwnStream[] = [];
}
