import { limits } from "../../../../limits.ts";
import type { OwnStream } from "./stream.ts";

/** The streams of one connection, and what is known of former ones. */
export class Streams {
  readonly #open = new Map<number, OwnStream>();
  /** All bytes are on their way to the socket. */
  readonly #leaving = new Map<number, OwnStream>();
  /** Reset by this server: the peer may have sent more before it knew. */
  readonly #reset = new Set<number>();
  /** Closed streams whose answers the peer may still refuse. */
  readonly #unconfirmed = new Map<number, () => void>();
  /** Closed streams whose calls are still being answered. */
  #abandoned = 0;
  /** The latest stream that the peer opened. */
  lastId = 0;

  get size(): number {
    return this.#open.size;
  }

  /** Whether none is open and none has bytes that the socket has not accepted. */
  get isEmpty(): boolean {
    return this.#open.size === 0 && this.#leaving.size === 0;
  }

  get isFull(): boolean {
    return this.#open.size + this.#abandoned >= limits.grpcStreamsPerConnectionMax;
  }

  get(id: number): OwnStream | undefined {
    return this.#open.get(id);
  }

  all(): Iterable<OwnStream> {
    return this.#open.values();
  }

  open(stream: OwnStream): void {
    this.#open.set(stream.id, stream);
  }

  leave(stream: OwnStream): void {
    this.#open.delete(stream.id);
    this.#leaving.set(stream.id, stream);
  }

  left(stream: OwnStream): void {
    this.#leaving.delete(stream.id);
  }

  remove(stream: OwnStream): void {
    this.#open.delete(stream.id);
    this.#leaving.delete(stream.id);
  }

  /** Frames of this stream that are under way are to be ignored. */
  rememberReset(id: number): void {
    this.#reset.add(id);
    if (this.#reset.size <= limits.http2ResetIdsKept) return;
    const [oldest = 0] = this.#reset;
    this.#reset.delete(oldest);
  }

  wasReset(id: number): boolean {
    return this.#reset.has(id);
  }

  /** One whose answer the socket has not accepted. */
  leaving(id: number): OwnStream | undefined {
    return this.#leaving.get(id);
  }

  awaitConfirmation(id: number, refused: () => void): void {
    this.#unconfirmed.set(id, refused);
  }

  confirmed(id: number): void {
    this.#unconfirmed.delete(id);
  }

  /** The peer has reset a stream that is closed: it did not receive the answer. */
  refused(id: number): void {
    this.#unconfirmed.get(id)?.();
  }

  abandon(): () => void {
    this.#abandoned++;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#abandoned--;
    };
  }

  /** All that are not over. */
  takeAll(): readonly OwnStream[] {
    const all = [...this.#open.values(), ...this.#leaving.values()];
    this.#open.clear();
    this.#leaving.clear();
    return all;
  }
}
