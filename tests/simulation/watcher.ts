import { AppError } from "../../src/lib/errors.ts";
import { jobKey } from "../../src/core/state/row-keys.ts";
import type { JobView, WatchEventView } from "../../src/server/views/views.ts";
import { readWatch } from "../../src/testing/read-watch.ts";
import { noGapBetween } from "./checkers.ts";
import { Pipe } from "./pipe.ts";
import type { Seeded } from "./random.ts";
import type { Seams } from "./seams.ts";
import type { Server } from "./server.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";
import type { Witness } from "./witness.ts";

const ENDED: ReadonlySet<string> = new Set([
  "succeeded",
  "failed",
  "cancelled",
  "expired",
  "skipped",
]);
const PAGE = { pageSize: 1_000 };

export interface WatcherOptions {
  readonly server: Server;
  readonly timeline: Timeline;
  readonly random: Seeded;
  readonly witness: Witness;
  readonly trace: Trace;
  readonly seams: Seams;
  /** It leaves once it was checked, and comes back with a new list: the moment between the two is delicate. */
  readonly isRestless: boolean;
}

/**
 * Keeps a copy of all jobs, and the revisions of nodes, clusters and groups: lists once, then follows the events, and resumes exactly after
 * the last event it received, wherever the stream was cut.
 */
export class Watcher {
  readonly #options: WatcherOptions;
  readonly jobs = new Map<string, JobView>();
  /** Revisions by kind and name: "node/n1". */
  readonly #revisions = new Map<string, number>();
  readonly #ends = new Map<string, string>();
  /** Everything up to here was seen; undefined: list first. */
  #seen: number | undefined = undefined;
  #latest = 0;
  /** Events on their way; undefined: it follows nothing now. */
  #inFlight: number | undefined = undefined;
  #leave: () => void = () => undefined;
  #isClosed = false;

  constructor(options: WatcherOptions) {
    this.#options = options;
    void this.#run();
  }

  async #run(): Promise<void> {
    const { timeline, random, isRestless } = this.#options;
    while (!this.#isClosed) {
      try {
        this.#seen ??= await this.#list();
        await this.#follow(this.#seen);
      } catch (error) {
        const isCompacted = error instanceof AppError && error.code === "compacted";
        if (isCompacted) this.#seen = undefined;
      }
      if (isRestless) this.#seen = undefined;
      await timeline.sleep(random.int(10, isRestless ? 300 : 3_000));
    }
  }

  async #list(): Promise<number> {
    const { server, witness } = this.#options;
    const shown = (answer: { readonly revision: number }): void =>
      witness.shown("a list", answer.revision);
    const { jobs, revision } = await server.call((to) => to.listJobs({}, PAGE), shown);
    const { nodes } = await server.call((to) => to.listNodes({}, PAGE), shown);
    const { clusters } = await server.call((to) => to.listClusters(), shown);
    const { groups } = await server.call((to) => to.listGroups(), shown);
    this.jobs.clear();
    for (const job of jobs) {
      this.jobs.set(job.id, job);
      // All jobs of a simulation are read at once.
      const isBeyond = job.revision > revision;
      const text = `a list at ${revision} shows job ${job.id} at ${job.revision}`;
      witness.judge("watched-view-agrees", isBeyond ? text : undefined);
    }
    this.#revisions.clear();
    for (const { name, revision: at } of nodes) this.#revisions.set(`node/${name}`, at);
    for (const { name, revision: at } of clusters) this.#revisions.set(`cluster/${name}`, at);
    for (const { name, revision: at } of groups) this.#revisions.set(`group/${name}`, at);
    this.#options.trace.line(`watcher: has ${jobs.length} jobs at ${revision}`);
    return revision;
  }

  /** Ends when the stream does, one way or another. */
  #follow(after: number): Promise<void> {
    const { server, timeline, random, witness, trace } = this.#options;
    const pipe = new Pipe(timeline, random);
    const abort = new AbortController();
    this.#latest = after;
    this.#inFlight = 0;
    return new Promise((resolve, reject) => {
      const die = (): void => {
        pipe.cut();
        this.#inFlight = undefined;
        abort.abort();
        timeline.after(random.int(1, 500), resolve);
      };
      this.#leave = die;
      const operations = server.attach(die);
      if (operations === undefined) return die();
      trace.line(`watcher: follows after ${after}`);
      const serve = async (): Promise<void> => {
        for await (const event of readWatch(operations, { afterRevision: after }, abort.signal)) {
          witness.shown("an event", event.revision);
          const isLost = this.#options.seams.watchLosesEvents && random.chance(0.05);
          if (isLost) continue;
          this.#inFlight = (this.#inFlight ?? 0) + 1;
          pipe.send(() => this.#take(event));
        }
      };
      serve()
        .catch((error: unknown) => pipe.send(() => reject(error)))
        .finally(() => pipe.send(() => resolve()));
    });
  }

  #take(event: WatchEventView): void {
    const { witness } = this.#options;
    if (this.#inFlight !== undefined) this.#inFlight--;
    if (event.kind === "sync") {
      const isFrom = event.revision === this.#latest;
      witness.judge("watch-has-no-gaps", isFrom ? undefined : `asked after ${this.#latest}`);
      return;
    }
    const { visible } = witness.durable.shown;
    witness.judge("watch-has-no-gaps", noGapBetween(visible, this.#latest, event.revision));
    this.#latest = event.revision;
    this.#seen = event.revision;
    this.#keep(event);
  }

  #keep(event: WatchEventView): void {
    switch (event.kind) {
      case "job":
        this.jobs.set(event.job.id, event.job);
        return;
      case "task":
        this.#noteEnd(event.task.id, event.task.state);
        return;
      case "node":
        return this.#noteRevision(`node/${event.node.name}`, event.revision);
      case "cluster":
        return this.#noteRevision(`cluster/${event.cluster.name}`, event.revision);
      case "group":
        return this.#noteRevision(`group/${event.group.name}`, event.revision);
      case "service":
        return this.#noteRevision(`service/${event.service.name}`, event.revision);
      case "removed":
        if (event.what === "job") this.jobs.delete(event.id);
        else this.#forget(`${event.what}/${event.id}`, event.revision);
        return;
      case "nexus":
      case "sync":
      case "bookmark":
    }
  }

  /** Lists of other kinds were made later than that of jobs: their content may come again. */
  #noteRevision(key: string, revision: number): void {
    this.#revisions.set(key, Math.max(this.#revisions.get(key) ?? 0, revision));
  }

  #forget(key: string, revision: number): void {
    if ((this.#revisions.get(key) ?? 0) < revision) this.#revisions.delete(key);
  }

  /** Whenever no event is on its way, the copy equals the disk. */
  check(): void {
    this.#compare();
    if (this.#options.isRestless && this.#inFlight !== undefined) this.#leave();
  }

  #compare(): void {
    const { witness } = this.#options;
    const { durable } = witness;
    const { shown } = durable;
    if (this.#inFlight !== 0 || this.#latest < (shown.visible.at(-1) ?? 0)) return;
    for (const job of durable.jobs.values()) {
      const copy = this.jobs.get(String(job.id));
      const left = durable.unfinished(job);
      const isSame = copy !== undefined && copy.taskTotal - endedOf(copy) === left;
      const text = `at ${this.#latest} a watcher has job ${job.id} as ${copy?.state}; ${left} tasks are left`;
      witness.judge("watched-view-agrees", isSame ? undefined : text);
      this.#compareRevision(jobKey(job.id), copy?.revision);
    }
    for (const name of durable.nodes.keys()) this.#compareKept(`node/${name}`);
    for (const name of durable.clusters.clusters.keys()) this.#compareKept(`cluster/${name}`);
  }

  #compareKept(key: string): void {
    this.#compareRevision(key, this.#revisions.get(key));
  }

  #compareRevision(key: string, have: number | undefined): void {
    const { witness } = this.#options;
    const want = witness.durable.shown.of(key);
    const text = `at ${this.#latest} a watcher has ${key} at ${have}; on the disk it is at ${want}`;
    witness.judge("watched-view-agrees", have === want ? undefined : text);
  }

  /** A task is seen to end once. */
  #noteEnd(id: string, state: string): void {
    const before = this.#ends.get(id);
    if (ENDED.has(state)) this.#ends.set(id, state);
    const isOther = before !== undefined && before !== state && ENDED.has(state);
    this.#options.witness.judge(
      "ended-stays-ended",
      isOther ? `watchers saw task ${id} ${before}, then ${state}` : undefined,
    );
  }

  /** The network drops the stream; it resumes, or another watcher replaces it and lists first. */
  interrupt(): void {
    const { trace, random } = this.#options;
    const isNew = random.chance(0.4);
    trace.line(`watcher: ${isNew ? "replaced" : "interrupted"}`);
    if (isNew) this.#seen = undefined;
    this.#leave();
  }

  close(): void {
    this.#isClosed = true;
  }
}

const endedOf = ({ tasks }: JobView): number =>
  tasks.succeeded + tasks.failed + tasks.cancelled + tasks.expired + tasks.skipped;

/** A job as watchers and lists must agree on it, as JSON, like events. Only lists have the reason why a job is pending. */
export function comparable(job: JobView): unknown {
  const { reason: _reason, ...rest } = job;
  return JSON.parse(JSON.stringify(rest));
}
