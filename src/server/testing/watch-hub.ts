import { gunzipSync, gzipSync } from "node:zlib";
import { aSpec } from "../../testing/builders.ts";
import { JSON_LINES, parseLines } from "../../testing/read-watch.ts";
import { jobId, revision } from "../../core/model/ids.ts";
import type { Job } from "../../core/model/job/job.ts";
import { freshProgress } from "../../core/model/progress.ts";
import type { AppError } from "../../lib/errors.ts";
import type { Commit, JobSnapshot } from "../loop/open-batch.ts";
import type { WatchQuery } from "../operations/operations.ts";
import type { WatchEventView } from "../views/views.ts";
import { toWatchFilter, toWatchRevision } from "../watch/watch-filter.ts";
import type { WatchFormat } from "../watch/watch-format.ts";
import { WatchHub } from "../watch/watch-hub.ts";

export const aJob = (id = 1, group = "default"): Job => ({
  id: jobId(id),
  spec: aSpec({ group }),
  submittedAtMs: 0,
  submittedBy: "",
  idempotencyKey: undefined,
  closed: undefined,
  waitsFor: undefined,
});

export const submitted = (job: Job, at = 1): JobSnapshot => ({
  job,
  progress: freshProgress(job.spec),
  only: undefined,
  revision: revision(at),
});

/** Its jobs share one revision, unless `numbered` continues after the earlier ones. */
export const aCommit = (
  at: number,
  jobs: readonly Job[] = [aJob()],
  isNumbered = false,
): Commit => {
  const before = isNumbered ? at - jobs.length : at - 1;
  const revisionOf = (place: number): number => (isNumbered ? before + 1 + place : at);
  return {
    before: revision(before),
    revision: revision(at),
    changes: jobs.map((row) => ({ table: "job", row })),
    revisions: jobs.map((_, place) => revision(revisionOf(place))),
    jobs: new Map(jobs.map((job, place) => [job.id, submitted(job, revisionOf(place))])),
    loads: new Map(),
    statuses: new Map(),
    removedFrom: new Map(),
    hasReplaced: false,
  };
};

export const jobs = (count: number): Job[] =>
  Array.from({ length: count }, (_, at) => aJob(at + 1));

/** A hub whose slices run when the test says so. */
export function aHub(at = 0, jobOf: (id: number) => Job | undefined = (id) => aJob(id)) {
  const waiting: (() => void)[] = [];
  const hub = new WatchHub(revision(at), {
    source: { jobOf, revisionOf: (id) => jobOf(id) && revision(1), clusterOf: () => "local" },
    soon: (run) => waiting.push(run),
  });
  const slice = (): boolean => {
    const run = waiting.shift();
    run?.();
    return run !== undefined;
  };
  const settle = (): number => {
    let slices = 0;
    while (slice()) if (slices++ > 100_000) throw new Error("it never settles");
    return slices;
  };
  return { hub, slice, settle };
}

/** Lines of JSON, each part compressed on its own. */
const GZIP_LINES: WatchFormat = {
  name: "json gzip",
  render: (event) => gzipSync(JSON_LINES.render(event)),
  packing: { from: JSON_LINES, pack: (events) => gzipSync(events) },
};

/** `isRead` false: the network accepts nothing until `take` is called. */
export function aReader(isRead = true, isPacked = false) {
  let sentBytes = 0;
  const events: WatchEventView[] = [];
  const untaken: (() => void)[] = [];
  const ends: AppError[] = [];
  const cuts: true[] = [];
  return {
    format: isPacked ? GZIP_LINES : JSON_LINES,
    events,
    ends,
    cuts,
    sentBytes: () => sentBytes,
    take: () => untaken.splice(0).forEach((taken) => taken()),
    revisions: () => events.map((event) => event.revision),
    kinds: () => events.map((event) => event.kind),
    sink: {
      send(parts: readonly Buffer[], taken: () => void) {
        for (const part of parts) sentBytes += part.length;
        events.push(...parseLines(isPacked ? parts.map((part) => gunzipSync(part)) : parts));
        if (isRead) taken();
        else untaken.push(taken);
      },
      end: (error: AppError) => void ends.push(error),
      cut: () => void cuts.push(true),
    },
  };
}

export const here = { connection: {}, address: undefined };

export function watch(
  hub: WatchHub,
  query: WatchQuery = {},
  reader = aReader(),
  caller: object = here,
) {
  const open = hub.open({
    after: toWatchRevision(query.afterRevision),
    filter: toWatchFilter(query),
    format: reader.format,
    sink: reader.sink,
    caller: caller as typeof here,
  });
  return { ...reader, ...open };
}
