import type { Revision } from "../../core/model/ids.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import type { Commit } from "../loop/open-batch.ts";
import { RenderedEvents } from "./rendered-events.ts";
import { Followers, type Published } from "./followers.ts";
import type { KeptCommit } from "./kept-commit.ts";
import { mayConcern, nextBlock, revisionBefore, type WatchSource } from "./watch-entries.ts";
import type { WatchFilter } from "./watch-filter.ts";
import type {
  EventFollower,
  FollowedEvent,
  OpenWatch,
  WatchCaller,
  WatchFormat,
  WatchSink,
} from "./watch-format.ts";
import { WatchHistory } from "./watch-history.ts";
import { WatchIndex } from "./watch-index.ts";
import { WatchPlaces } from "./watch-places.ts";
import { Watcher } from "./watcher.ts";

export interface WatchOptions {
  /** Events after this revision; undefined: from now on. */
  readonly after: Revision | undefined;
  readonly filter: WatchFilter;
  readonly format: WatchFormat;
  readonly sink: WatchSink;
  readonly caller: WatchCaller;
}

/**
 * Sends every durable commit to every watch that it concerns, in order and without gaps (docs/design/watches.md).
 *
 * A watch has a place in the history and sends the events that pass its filter from there, block by block, as fast as its reader reads:
 *
 *     idle ──a commit concerns it──► queued ──its reader is behind──► blocked
 *      ▲                             │    ▲                              │
 *      └───────it has sent all───────┘    └────its reader caught up──────┘
 *
 * Queued watches take turns, in slices; the loop decides commands in between.
 */
export class WatchHub {
  readonly #history: WatchHistory;
  readonly #source: WatchSource;
  readonly #rendered: RenderedEvents;
  readonly #soon: (run: () => void) => void;
  readonly #places = new WatchPlaces();
  readonly #index = new WatchIndex<Watcher>();
  readonly #watchers = new Set<Watcher>();
  readonly #followers: Followers;
  /** In the order of their turns. */
  readonly #queued = new Set<Watcher>();
  readonly #blocked = new Set<Watcher>();
  /** Watches whose readers have not read all that was sent; the one that waits longest first. */
  readonly #behind = new Set<Watcher>();
  /** Ended watches whose readers have not read all that was sent. */
  readonly #ending = new Set<Watcher>();
  #isScheduled = false;
  #closed: AppError | undefined = undefined;
  #looks = 0;

  constructor(
    at: Revision,
    options: { readonly source: WatchSource; readonly soon: (run: () => void) => void },
  ) {
    this.#history = new WatchHistory(at);
    this.#source = options.source;
    this.#rendered = new RenderedEvents(options.source);
    this.#soon = options.soon;
    this.#followers = new Followers({
      ...options,
      heard: (published) => this.#queueConcerned(published),
    });
  }

  get watchers(): number {
    return this.#places.total;
  }

  /** For tests: watches that commits checked, events rendered, blocks packed, bytes of both memories. */
  get costs(): {
    readonly looks: number;
    readonly renders: number;
    readonly packs: number;
    readonly renderedBytes: number;
    readonly historyBytes: number;
    readonly historyCommits: number;
  } {
    const { renders, packs, bytes: renderedBytes } = this.#rendered;
    const { bytes: historyBytes, held: historyCommits } = this.#history;
    const looks = this.#looks;
    return { looks, renders, packs, renderedBytes, historyBytes, historyCommits };
  }

  publish(commit: Commit): void {
    const place = this.#history.end;
    const kept = this.#history.push(commit);
    this.#followers.publish({ commit, kept, place });
    this.#history.drop(() => this.#unread());
  }

  /** The first place that a watch or a follower has not read. */
  #unread(): number {
    let first = this.#followers.unheard?.place ?? this.#history.end;
    for (const watchers of [this.#queued, this.#blocked]) {
      for (const { place } of watchers) first = Math.min(first, place);
    }
    return first;
  }

  /** Calls the listener for every event from now on, before any watch receives it. */
  follow(hear: (event: FollowedEvent) => void): EventFollower {
    this.#followers.add(hear);
    const revision = (): Revision => this.#heard;
    return {
      get revision() {
        return revision();
      },
      caughtUp: () => this.#followers.caughtUp(),
      close: () => this.#followers.remove(hear),
    };
  }

  /** Followers have received everything up to this commit, so that watches may receive it. */
  get #heard(): Revision {
    return this.#followers.unheard?.commit.before ?? this.#history.latest;
  }

  #queueConcerned({ commit, place }: Published): void {
    if (this.#watchers.size === 0) return;
    this.#index.concerned(commit, (watcher) => {
      this.#looks++;
      if (watcher.state !== "idle") return;
      watcher.moveTo(place, commit.before);
      this.#queue(watcher);
    });
  }

  /** Throws AppError when the watch cannot be opened. Its first event is a "sync". */
  open({ after, filter, format, sink, caller }: WatchOptions): OpenWatch {
    if (this.#closed !== undefined) throw this.#closed;
    const from = after ?? this.#history.latest;
    const place = this.#history.placeAfter(
      this.#isAsOf(filter, from) ? this.#history.oldest(from) : from,
    );
    const leave = this.#places.take(caller, filter.jobId !== undefined);
    const watcher = new Watcher({ filter, format, sink, leave }, place, from);
    this.#watchers.add(watcher);
    this.#index.add(watcher);
    this.#queue(watcher);
    return {
      close: () => this.#remove(watcher),
      end: (error) => this.#end(watcher, error),
      beat: () => this.#beat(watcher),
    };
  }

  /** Whether the watch is of one job that has not changed since: then it misses nothing. */
  #isAsOf({ jobId }: WatchFilter, from: Revision): boolean {
    const last = jobId === undefined ? undefined : this.#source.revisionOf(jobId);
    return last !== undefined && last <= from;
  }

  #queue(watcher: Watcher): void {
    watcher.state = "queued";
    this.#queued.add(watcher);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#soon(() => {
      this.#isScheduled = false;
      this.#slice();
    });
  }

  /** Gives some watches a turn each; the rest wait until other work has had its turn. */
  #slice(): void {
    this.#rendered.beginSlice();
    let sends = 0;
    for (const watcher of this.#queued) {
      if (sends++ >= limits.watchSendsPerSliceMax || this.#rendered.isSliceOver) break;
      if (!this.#makeRoom()) return;
      this.#queued.delete(watcher);
      this.#turn(watcher);
    }
    if (this.#queued.size > 0) this.#schedule();
    else if (this.#blocked.size === 0) this.#rendered.clear();
  }

  #turn(watcher: Watcher): void {
    try {
      const isMore = this.#fill(watcher);
      this.#flush(watcher);
      if (!isMore) watcher.state = "idle";
      else if (watcher.unsentBytes < limits.watchUnsentBytesMax) this.#queue(watcher);
      else {
        watcher.state = "blocked";
        this.#blocked.add(watcher);
      }
    } catch (error) {
      this.#flush(watcher);
      this.#end(watcher, AppError.from(error, "watch"));
    }
  }

  /** Collects the parts that one turn sends; returns whether there is more after it. */
  #fill(watcher: Watcher): boolean {
    if (!watcher.isGreeted) watcher.greet();
    for (let scans = 0; scans < limits.watchRendersPerSliceMax; scans++) {
      if (watcher.collectedBytes >= limits.watchBlockBytesMax) return true;
      const commit = this.#commitFor(watcher);
      if (commit === undefined) {
        watcher.seen = later(watcher.seen, this.#heard);
        return false;
      }
      const { filter, format } = watcher;
      const after = watcher.afterIn(commit);
      const isFor = watcher.block > 0 || mayConcern(commit, filter);
      const block = isFor ? nextBlock(commit, filter, watcher.block, after) : undefined;
      if (block === undefined) {
        watcher.moveTo(watcher.place + 1, commit.revision);
        continue;
      }
      const selected = this.#rendered.select(commit, block, { filter, format, after });
      watcher.collect(selected.bytes, selected.block);
      watcher.block = selected.next;
      const seen = revisionBefore(commit, selected.next);
      if (seen > watcher.seen) watcher.seen = seen;
      // A turn with compression has many blocks, and the first watch renders all of them.
      if (this.#rendered.isSliceOver) return true;
    }
    return true;
  }

  /** Undefined: it has not happened yet, or not all followers have received it. */
  #commitFor({ place, seen }: Watcher): KeptCommit | undefined {
    const { unheard } = this.#followers;
    const isUnheard = unheard !== undefined && place >= unheard.place;
    return isUnheard ? undefined : this.#history.at(place, seen);
  }

  #flush(watcher: Watcher): void {
    watcher.flush(() => this.#taken(watcher));
    if (watcher.unsentBytes > 0) this.#behind.add(watcher);
  }

  #taken(watcher: Watcher): void {
    if (watcher.unsentBytes === 0) {
      this.#behind.delete(watcher);
      this.#ending.delete(watcher);
    }
    const isRoom = watcher.unsentBytes < limits.watchUnsentBytesMax / 2;
    if (watcher.state === "blocked" && isRoom) {
      this.#blocked.delete(watcher);
      this.#queue(watcher);
    } else if (this.#queued.size > 0) this.#schedule();
    else if (this.#blocked.size === 0 && watcher.state !== "queued") this.#rendered.clear();
  }

  #beat(watcher: Watcher): boolean {
    if (watcher.state === "over") return false;
    if (watcher.isStuckSinceBeat()) {
      this.#end(watcher, tooSlow("read nothing for too long"));
      return true;
    }
    if (watcher.state !== "idle") return false;
    const isNews = watcher.bookmark(this.#heard);
    this.#flush(watcher);
    return isNews;
  }

  /**
   * When readers hold nearly all the memory for events, the hub ends those that have waited longest; they have
   * a while to read why. When readers hold all of it, the hub cuts these off. False: the hub continues when
   * their memory is free again, which `#taken` notices.
   */
  #makeRoom(): boolean {
    let { bytes, live } = this.#rendered.makeRoom();
    let ends = 0;
    for (const watcher of this.#behind) {
      if (live <= limits.watchRenderedBytesFull || ends++ >= limits.watchSendsPerSliceMax) break;
      this.#end(watcher, tooSlow("is the slowest, and the memory for events is used up"));
      ({ bytes, live } = this.#rendered.makeRoom());
    }
    if (bytes <= limits.watchRenderedBytesMax) return true;
    for (const watcher of this.#ending) {
      this.#ending.delete(watcher);
      watcher.cut();
    }
    return false;
  }

  #end(watcher: Watcher, error: AppError): void {
    if (watcher.state === "over") return;
    const seen = watcher.state === "idle" ? later(watcher.seen, this.#heard) : watcher.seen;
    this.#remove(watcher);
    this.#behind.delete(watcher);
    if (watcher.unsentBytes > 0) this.#ending.add(watcher);
    watcher.end(error, seen);
  }

  #remove(watcher: Watcher): void {
    if (watcher.state === "over") return;
    watcher.state = "over";
    this.#watchers.delete(watcher);
    this.#queued.delete(watcher);
    this.#blocked.delete(watcher);
    this.#index.remove(watcher);
    watcher.leave();
  }

  close(): void {
    this.#closed = new AppError("unavailable", "the server is stopping");
    for (const watcher of this.#watchers) this.#end(watcher, this.#closed);
  }
}

const later = (a: Revision, b: Revision): Revision => (a > b ? a : b);

const tooSlow = (why: string): AppError => new AppError("exhausted", `the reader ${why}`);
