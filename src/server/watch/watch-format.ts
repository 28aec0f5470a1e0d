import type { Revision } from "../../core/model/ids.ts";
import type { AppError } from "../../lib/errors.ts";
import type { WatchEventView } from "../views/views.ts";

/**
 * How events look on one wire. The hub renders an event once for all watches of the same format, so
 * that a door has one format for all of its watches; another wire plugs in with another.
 */
export interface WatchFormat {
  readonly name: string;
  /** The event with whatever frames it. May throw AppError: the watches that want it end with that. */
  render(event: WatchEventView): Buffer;
  /** Of a format whose blocks are made of another's, so that both share the rendering. */
  readonly packing?: WatchPacking;
}

export interface WatchPacking {
  readonly from: WatchFormat;
  /**
   * Makes one part of the rendered events of a block, all of one commit. It is made once for all
   * watches that get these events. Returns the same `Buffer` where there is nothing to gain.
   */
  pack(events: Buffer, revision: Revision): Buffer;
}

/** Where the events of one watch go. The hub calls it from its own turns, never from `open`. */
export interface WatchSink {
  /**
   * Sends parts in this order. They are shared by many watches and must not be changed. Calls
   * `taken` once, when the network has them or the reader is gone.
   */
  send(parts: readonly Buffer[], taken: () => void): void;
  /** The watch is over; `error.revision` is where it can be resumed. The reader has a while to read it. */
  end(error: AppError): void;
  /** After `end`: others need the memory that the reader holds, and it must not be waited for. */
  cut(): void;
}

/** Whose watch it is: callers share the places for watches. */
export interface WatchCaller {
  /** The same object for all calls of one connection. */
  readonly connection: object;
  /** Without a port; undefined: in this process, or gone. */
  readonly address: string | undefined;
}

export interface OpenWatch {
  /** Sends nothing more and gives its place back. */
  close(): void;
  /** The same, and tells the reader why and from which revision it can go on. */
  end(error: AppError): void;
  /**
   * To be called in equal intervals. Tells an idle reader up to which revision it has seen all, and
   * drops one that has taken nothing since the last beat although more waits. Returns whether
   * anything was sent: if not, the link may need a sign of life.
   */
  beat(): boolean;
}

/** Somebody in this process who hears of everything. */
export interface EventFollower {
  /** All up to here was told. */
  readonly revision: Revision;
  /** Resolves when all that was published until now was told. */
  caughtUp(): Promise<void>;
  close(): void;
}

/** As watches are sent it. A job is shown when somebody looks: most only want to know which one it is. */
export type FollowedEvent =
  | Exclude<WatchEventView, { kind: "job" }>
  | (Extract<WatchEventView, { kind: "job" }> & {
      readonly id: string;
      readonly isEnded: boolean;
    });
