import type { JobId, Revision } from "../../core/model/ids.ts";
import type { Job } from "../../core/model/job/job.ts";
import type { Task } from "../../core/model/job/task.ts";
import { limits } from "../../limits.ts";
import { isJobEnded } from "../../core/model/progress.ts";
import { showJob, showTask } from "../views/show.ts";
import type { JobView, TaskView } from "../views/views.ts";
import type { Commit, JobSnapshot } from "../loop/open-batch.ts";
import { type KeptCommit, snapshotAt } from "./kept-commit.ts";
import { type JobBrief, showBrief } from "./job-brief.ts";
import type { FollowedEvent } from "./watch-format.ts";
import { entriesOf, eventOf, jobAt, type WatchEntry, type WatchSource } from "./watch-entries.ts";

/** A commit with its place in the history. */
export interface Published {
  readonly commit: Commit;
  readonly kept: KeptCommit;
  readonly place: number;
}

type Hear = (event: FollowedEvent) => void;

interface FollowersOptions {
  readonly source: WatchSource;
  readonly soon: (run: () => void) => void;
  /** All followers have received this commit, or there are none. */
  readonly heard: (published: Published) => void;
}

/**
 * Followers: parts of this process that receive every event, before any watch does. A commit may have 20,000 events:
 * followers receive them in slices, between which the loop decides commands. The number of pending events is bounded:
 * beyond it the next commit waits for them.
 */
export class Followers {
  readonly #options: FollowersOptions;
  readonly #all = new Set<Hear>();
  /** Oldest first. */
  readonly #unheard: Published[] = [];
  /** The entry of the first of them that is sent next. */
  #entry = 0;
  /** Entries of commits that followers have not fully received. */
  #behind = 0;
  #isScheduled = false;
  #waiting: (() => void)[] = [];

  constructor(options: FollowersOptions) {
    this.#options = options;
  }

  /** The first commit that followers have not fully received; undefined: they have received all. */
  get unheard(): Published | undefined {
    return this.#unheard[0];
  }

  add(hear: Hear): void {
    this.#tell(Number.POSITIVE_INFINITY); // a new follower receives no earlier event
    this.#all.add(hear);
  }

  remove(hear: Hear): void {
    this.#all.delete(hear);
    if (this.#all.size === 0) this.#tell(Number.POSITIVE_INFINITY);
  }

  publish(published: Published): void {
    if (this.#all.size === 0) return this.#options.heard(published);
    this.#unheard.push(published);
    this.#behind += entriesOf(published.kept).entries.length;
    const tooMany = this.#behind - limits.followedEventsBehindMax;
    this.#tell(Math.max(limits.followedEventsPerSliceMax, tooMany));
  }

  /** Resolves when followers have received everything published until now. */
  caughtUp(): Promise<void> {
    if (this.#unheard.length === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
    });
  }

  #tell(eventsMax: number): void {
    let left = eventsMax;
    for (let first = this.#unheard[0]; first !== undefined; first = this.#unheard[0]) {
      const { entries } = entriesOf(first.kept);
      const end = Math.min(entries.length, this.#entry + left);
      left -= end - this.#entry;
      while (this.#entry < end) this.#tellOne(first.kept, this.#entry++);
      if (end < entries.length) break;
      this.#unheard.shift();
      this.#behind -= entries.length;
      this.#entry = 0;
      this.#options.heard(first);
    }
    if (this.#unheard.length > 0) this.#schedule();
    else for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #tellOne(kept: KeptCommit, at: number): void {
    const { entries, revisions } = entriesOf(kept);
    const entry = entries[at];
    const revision: Revision = revisions[at] ?? kept.revision;
    const event = this.#event(kept, entry, revision);
    if (event !== undefined) for (const hear of this.#all) hear(event);
  }

  #event(
    kept: KeptCommit,
    entry: WatchEntry | undefined,
    revision: Revision,
  ): FollowedEvent | undefined {
    const { source } = this.#options;
    if (entry === undefined) return undefined;
    if (typeof entry === "number") {
      const snapshot = snapshotAt(kept, entry, source.jobOf);
      return snapshot && new FollowedJob(snapshot, revision);
    }
    if (entry.table === "task") {
      const job = jobAt(kept, entry.row.jobId, source);
      return job && new FollowedTask({ job, row: entry.row, revision }, source.clusterOf);
    }
    const event = eventOf(kept, entry, revision, source);
    return event?.kind === "job" || event?.kind === "task" ? undefined : event; // seen above
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#options.soon(() => {
      this.#isScheduled = false;
      this.#tell(limits.followedEventsPerSliceMax);
    });
  }
}

class FollowedJob {
  readonly kind = "job";
  readonly revision: Revision;
  readonly #snapshot: JobSnapshot;
  #shown: JobView | undefined;

  constructor(snapshot: JobSnapshot, revision: Revision) {
    this.#snapshot = snapshot;
    this.revision = revision;
  }

  get id(): JobId {
    return this.#snapshot.job.id;
  }

  get isEnded(): boolean {
    return isJobEnded(this.#snapshot.progress);
  }

  get brief(): JobBrief {
    const { job, progress, only } = this.#snapshot;
    return showBrief(job, progress, only);
  }

  get job(): JobView {
    const { job, progress, only } = this.#snapshot;
    return (this.#shown ??= showJob(job, progress, { only, revision: this.revision }));
  }
}

interface ChangedTask {
  readonly job: Job;
  readonly row: Task;
  readonly revision: Revision;
}

class FollowedTask {
  readonly kind = "task";
  readonly #changed: ChangedTask;
  readonly #clusterOf: WatchSource["clusterOf"];
  #shown: TaskView | undefined;

  constructor(changed: ChangedTask, clusterOf: WatchSource["clusterOf"]) {
    this.#changed = changed;
    this.#clusterOf = clusterOf;
  }

  get revision(): Revision {
    return this.#changed.revision;
  }

  get jobId(): JobId {
    return this.#changed.job.id;
  }

  get task(): TaskView {
    const { job, row, revision } = this.#changed;
    return (this.#shown ??= showTask(job, row.index, { row, revision }, this.#clusterOf));
  }
}
