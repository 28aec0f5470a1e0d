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
  /** The watch is over; it can resume from `error.revision`. The reader has a while to read this. */
  end(error: AppError): void;
  /** After `end`: cuts the reader off at once, because others need the memory that it holds. */
  cut(): void;
}

/** The owner of a watch: callers share the places for watches. */
export interface WatchCaller {
  /** The same object for all calls of one connection. */
  readonly connection: object;
  /** Without a port; undefined: in this process, or gone. */
  readonly address: string | undefined;
}

export interface OpenWatch {
  /** Sends nothing more and frees its place. */
  close(): void;
  /** The same, and sends the reader the reason and the revision to resume from. */
  end(error: AppError): void;
  /**
   * Call this at equal intervals. Sends an idle reader the revision up to which it has seen all, and
   * drops a reader that has read nothing since the last beat although more waits. Returns whether
   * it sent anything: if not, the link may need a sign of life.
   */
  beat(): boolean;
}

/** A part of this process that receives every event. */
export interface EventFollower {
  /** The follower has received everything up to this revision. */
  readonly revision: Revision;
  /** Resolves when the follower has received everything published until now. */
  caughtUp(): Promise<void>;
  close(): void;
}

/** The event as watches receive it. A job is rendered on access: most followers need only its id. */
export type FollowedEvent =
  | Exclude<WatchEventView, { kind: "job" }>
  | (Extract<WatchEventView, { kind: "job" }> & {
      readonly id: string;
      readonly isEnded: boolean;
    });
