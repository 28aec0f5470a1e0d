import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { RequestHold } from "./request-hold.ts";

export interface RequestBytesLimits {
  /** A message up to this size never waits for a larger one. */
  readonly smallBytes: number;
  /** For small messages and the beginnings of large ones. */
  readonly smallTotalMax: number;
  readonly smallPerConnectionMax: number;
  /** For large messages, each with the size that its sender announced. */
  readonly largeTotalMax: number;
  readonly largePerConnectionMax: number;
  /** Charged for an open request in addition to its bytes: the stream and its headers take memory too. */
  readonly openRequestBytes: number;
  readonly waitingMax: number;
  /** A message must be complete this long after it began. */
  readonly receiveMsMax: number;
  /** While others wait, a large message must grow by `progressBytesMin` in this time. */
  readonly stallMs: number;
  readonly progressBytesMin: number;
}

const DEFAULTS: RequestBytesLimits = {
  smallBytes: limits.smallMessageBytesMax,
  smallTotalMax: limits.smallRequestBytesTotalMax,
  smallPerConnectionMax: limits.smallRequestBytesPerConnectionMax,
  largeTotalMax: limits.largeRequestBytesTotalMax,
  largePerConnectionMax: limits.largeRequestBytesPerConnectionMax,
  openRequestBytes: limits.openRequestBytes,
  waitingMax: limits.requestsWaitingMax,
  receiveMsMax: limits.requestReceiveMsMax,
  stallMs: limits.requestStallMs,
  progressBytesMin: limits.requestProgressBytesMin,
};

/** The owner of a request: it stops and resumes its source, or ends the request. */
export interface RequestOwner {
  /** A request that had to wait may continue to read. */
  resume(): void;
  /** The request is dropped; its bytes are already released. */
  drop(error: AppError): void;
}

/** The bytes that one connection holds; every connection of a door opens one. */
export interface ConnectionBytes {
  small: number;
  large: number;
}

/**
 * The bytes of requests that the process holds: those that arrive, and those that are being answered. All doors share one, so that no
 * number of callers can make the process outgrow its memory. See docs/design/bytes-under-way.md.
 *
 * - The first bytes of every message come out of a reserve. When it is full, the request without
 *   progress for the longest time is dropped, so that complete messages always fit.
 * - A message that turns out to be large reserves its announced size at once, and waits, paused,
 *   until that is free. The connection that holds least is served first. While requests wait, a
 *   large message without progress is dropped.
 */
export class RequestBytes {
  readonly limits: RequestBytesLimits;
  readonly nowMs: () => number;
  /** Incomplete and not waiting for memory: the one without progress for longest first. */
  readonly #incomplete = new Set<RequestHold>();
  readonly #waiting = new Set<RequestHold>();
  #small = 0;
  #large = 0;
  #dropped = 0;
  #released = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    changes: Partial<RequestBytesLimits> = {},
    nowMs: () => number = () => performance.now(),
  ) {
    this.limits = { ...DEFAULTS, ...changes };
    this.nowMs = nowMs;
  }

  /** Bytes held now; and since the start: dropped requests, released large bytes. */
  get counts() {
    return {
      small: this.#small,
      large: this.#large,
      waiting: this.#waiting.size,
      open: this.#incomplete.size,
      dropped: this.#dropped,
      released: this.#released,
    };
  }

  open(connection: ConnectionBytes, owner: RequestOwner): RequestHold {
    return new RequestHold(this, connection, owner);
  }

  /** Used by holds: takes from the reserve, or throws the error to answer with. */
  takeSmall(hold: RequestHold, bytes: number): void {
    const { smallTotalMax, smallPerConnectionMax } = this.limits;
    if (hold.connection.small + bytes > smallPerConnectionMax) {
      throw tooMany(`this connection has ${smallPerConnectionMax} bytes of incomplete requests`);
    }
    while (this.#small + bytes > smallTotalMax) {
      const idlest = this.#idlestBut(hold);
      if (idlest === undefined) {
        throw tooMany(`the server has ${smallTotalMax} bytes of incomplete requests`);
      }
      this.drop(idlest, tooMany("the request made no progress and others need its memory"));
    }
    this.#small += bytes;
    hold.connection.small += bytes;
  }

  giveSmall({ connection }: RequestHold, bytes: number): void {
    this.#small -= bytes;
    connection.small -= bytes;
  }

  /** Reserves memory for a large message; false: not now. */
  takeLarge(hold: RequestHold, bytes: number): boolean {
    if (this.#waiting.size > 0 || !this.#fits(hold, bytes)) return false;
    this.#grant(hold, bytes);
    return true;
  }

  giveLarge({ connection }: RequestHold, bytes: number): void {
    if (bytes === 0) return;
    this.#large -= bytes;
    this.#released += bytes;
    connection.large -= bytes;
    this.#grantWaiting();
  }

  /** Throws the error to answer with when too many wait already. */
  wait(hold: RequestHold): void {
    if (this.#waiting.size >= this.limits.waitingMax) {
      throw tooMany(
        `${this.limits.largeTotalMax} bytes of large requests are under way and ` +
          `${this.#waiting.size} more requests wait`,
      );
    }
    if (this.#waiting.size === 0) for (const each of this.#incomplete) each.mark();
    this.#incomplete.delete(hold);
    this.#waiting.add(hold);
    this.#watch();
    this.#grantWaiting(); // others may wait only for their own connection
  }

  /** It has made progress: it is now the last to be dropped. */
  touch(hold: RequestHold): void {
    if (this.#waiting.has(hold)) return;
    this.#incomplete.delete(hold);
    this.#incomplete.add(hold);
    this.#watch();
  }

  leave(hold: RequestHold): void {
    this.#incomplete.delete(hold);
    this.#waiting.delete(hold);
  }

  drop(hold: RequestHold, error: AppError): void {
    this.#dropped++;
    hold.end();
    hold.owner.drop(error);
  }

  /** Drops requests that take too long, and, while others wait, large ones without progress. */
  sweep(): void {
    const nowMs = this.nowMs();
    const { receiveMsMax, stallMs, progressBytesMin } = this.limits;
    for (const hold of [...this.#incomplete, ...this.#waiting]) {
      if (nowMs - hold.sinceMs > receiveMsMax) {
        const error = this.#waiting.has(hold)
          ? tooMany("too many large requests are under way")
          : late(receiveMsMax);
        this.drop(hold, error);
      }
    }
    if (this.#waiting.size === 0) return;
    for (const hold of this.#incomplete) {
      if (!hold.isLarge || nowMs - hold.markMs < stallMs) continue;
      if (hold.grownBytes >= progressBytesMin) hold.mark();
      else this.drop(hold, tooMany("the request made no progress and others wait"));
    }
  }

  #fits({ connection }: RequestHold, bytes: number): boolean {
    const { largeTotalMax, largePerConnectionMax } = this.limits;
    return (
      this.#large + bytes <= largeTotalMax && connection.large + bytes <= largePerConnectionMax
    );
  }

  #grant(hold: RequestHold, bytes: number): void {
    this.#large += bytes;
    hold.connection.large += bytes;
  }

  #idlestBut(other: RequestHold): RequestHold | undefined {
    for (const hold of this.#incomplete) if (hold !== other) return hold;
    return undefined;
  }

  /** In order: otherwise a large message would wait for ever behind small ones. */
  #grantWaiting(): void {
    for (;;) {
      const next = this.#nextWaiting();
      if (next === undefined || this.#large + next.wanted > this.limits.largeTotalMax) return;
      this.#waiting.delete(next);
      this.#grant(next, next.wanted);
      next.granted();
    }
  }

  /** Of the connections below their limit, the one that holds least; then the first in time. */
  #nextWaiting(): RequestHold | undefined {
    let next: RequestHold | undefined;
    for (const hold of this.#waiting) {
      if (hold.connection.large + hold.wanted > this.limits.largePerConnectionMax) continue;
      if (next === undefined || hold.connection.large < next.connection.large) next = hold;
    }
    return next;
  }

  /** Ends itself when no request is open, and not with each request: there may be thousands a second. */
  #watch(): void {
    const everyMs = Math.min(this.limits.stallMs, this.limits.receiveMsMax) / 2;
    this.#timer ??= setInterval(() => {
      this.sweep();
      if (this.#incomplete.size === 0 && this.#waiting.size === 0) this.#unwatch();
    }, everyMs).unref();
  }

  #unwatch(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

const tooMany = (why: string): AppError =>
  new AppError("exhausted", `${why}; try again in a moment`);

const late = (ms: number): AppError =>
  new AppError("exhausted", `the request did not arrive within ${ms / 1_000} s`);
