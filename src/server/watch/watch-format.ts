import type { JobId, Revision } from "../../core/model/ids.ts";
import type { AppError } from "../../lib/errors.ts";
import type { WatchEventView } from "../views/views.ts";
import type { JobBrief } from "./job-brief.ts";

/**
 * The form of events on one wire. The hub renders an event once for all watches of the same format, so a door has one format for all of its
 * watches; another wire adds another format.
 */
export interface WatchFormat {
  readonly name: string;
  /** The event with its framing. May throw AppError, which ends the watches that need the event. */
  render(event: WatchEventView): Buffer;
  /** For a format whose blocks are made from another's, so that both share the rendering. */
  readonly packing?: WatchPacking;
}

export interface WatchPacking {
  readonly from: WatchFormat;
  /**
   * Makes one part from the rendered events of a block, all of one commit. It is made once for all watches that get these events. Returns
   * the same `Buffer` when packing gains nothing.
   */
  pack(events: Buffer, revision: Revision): Buffer;
}

/** The destination of one watch's events. The hub calls it from its own turns, never from `open`. */
export interface WatchSink {
  /**
   * Sends parts in this order. Many watches share them, so they must not be changed. Calls `taken` once, when the network has them or the
   * reader is gone.
   */
  send(parts: readonly Buffer[], taken: () => void): void;
  /** The watch is over; it can resume from `error.revision`. The reader has a while to read this. */
  end(error: AppError): void;
  /** After `end`: cuts the reader off at once, because others need its memory. */
  cut(): void;
}

/** The owner of a watch: callers share the places for watches. */
export interface WatchCaller {
  /** The same object for all calls of one connection. */
  readonly connection: object;
  /** Without a port; undefined: in this process, or disconnected. */
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

/** The event as watches receive it. Jobs and tasks are rendered on access: most followers need only ids. */
export type FollowedEvent =
  | Exclude<WatchEventView, { kind: "job" | "task" }>
  | (Extract<WatchEventView, { kind: "task" }> & { readonly jobId: JobId })
  | (Extract<WatchEventView, { kind: "job" }> & {
      readonly id: JobId;
      readonly isEnded: boolean;
      /** Rendered without most of its spec. */
      readonly brief: JobBrief;
    });
