import { type GroupId, type JobId, type Revision, revision } from "../../core/model/ids.ts";
import type { Job } from "../../core/model/job/job.ts";
import type { Change } from "../../core/state/change.ts";
import { TABLES } from "../../core/state/tables/tables.ts";
import type { KeptCommit, JobLookup, ShownChange } from "./kept-commit.ts";
import { BlockCutter, changeBytes, groupAt, snapshotAt } from "./kept-commit.ts";
import { showGroupRow, showJob, showNode, showTask } from "../views/show.ts";
import { showServiceRow } from "../services/show-services.ts";
import { showClusterRow } from "../views/show-cluster-row.ts";
import type { WatchEventView } from "../views/views.ts";
import type { WatchFilter, WatchKind } from "./watch-filter.ts";

/** Current state that an event shows in addition to its commit. */
export interface WatchSource {
  /** The job as it is now, or undefined when it was removed. */
  readonly jobOf: JobLookup;
  /** The revision of the job as it is now. */
  readonly revisionOf: (id: JobId) => Revision | undefined;
  readonly clusterOf: (node: string) => string | undefined;
}

/** An event of a commit: a change, or the position of a job. */
export type WatchEntry = ShownChange | number;

/** The entries of a commit, cut into blocks of bounded size. The hub renders and sends a block at once. */
export interface EntryList {
  /** Ordered by revision. */
  readonly entries: readonly WatchEntry[];
  /** The revision of the entry at the same position. */
  readonly revisions: readonly Revision[];
  /** The first entry of each block. */
  readonly starts: readonly number[];
  /** Positions of jobs, for the tasks of the same commit. */
  readonly positions: ReadonlyMap<JobId, number>;
  /** The entries of each job; computed when the first watch of one job reads the commit. */
  ofJob: ReadonlyMap<JobId, readonly number[]> | undefined;
}

const listed = new WeakMap<KeptCommit, EntryList>();

/** Computed when the first watcher reads the commit: a commit without watchers costs nothing here. */
export function entriesOf(commit: KeptCommit): EntryList {
  const known = listed.get(commit);
  if (known !== undefined) return known;
  const positions = new Map(commit.jobIds.map((id, at) => [id, at]));
  const inOrder = merge(commit);
  const list: EntryList = { ...inOrder, starts: cut(inOrder, commit), positions, ofJob: undefined };
  listed.set(commit, list);
  return list;
}

type InOrder = Pick<EntryList, "entries" | "revisions">;

/** Changes that no later change replaced, and jobs, ordered by revision. */
function merge(commit: KeptCommit): InOrder {
  const { changes, revisions: ofChanges, jobIds, jobRevisions, removedFrom } = commit;
  const isReplaced = replacedIn(commit);
  const jobs = [...jobRevisions.keys()].filter((at) => !removedFrom.has(jobIds[at] as JobId));
  jobs.sort((a, b) => (jobRevisions[a] ?? 0) - (jobRevisions[b] ?? 0));
  const entries: WatchEntry[] = [];
  const revisions: Revision[] = [];
  let next = 0;
  const addJobs = (until: number): void => {
    for (let job = jobs[next]; job !== undefined; job = jobs[++next]) {
      const at = jobRevisions[job] ?? 0;
      if (at >= until) return;
      entries.push(job);
      revisions.push(revision(at));
    }
  };
  for (const [at, change] of changes.entries()) {
    const own = ofChanges[at] ?? commit.revision;
    addJobs(own);
    if (isReplaced(change)) continue;
    entries.push(change);
    revisions.push(own);
  }
  addJobs(Infinity);
  return { entries, revisions };
}

/**
 * Leaves out rows that a later change of the same commit replaced or removed: beside the job's status at the end of the commit they could
 * show an end that never happened. Removals themselves are shown.
 */
function replacedIn(commit: KeptCommit): (change: ShownChange) => boolean {
  const { changes, removedFrom, hasReplaced } = commit;
  if (!hasReplaced && removedFrom.size === 0) return () => false;
  const last = new Map<string, ShownChange>();
  for (const change of changes) last.set(keyOf(change), change);
  return (change) =>
    "row" in change &&
    (last.get(keyOf(change)) !== change ||
      (change.table === "task" && removedFrom.has(change.row.jobId)));
}

const keyOf = (change: Change): string => TABLES.of(change).keyOf(change as never);

function cut({ entries }: InOrder, { jobSizes }: KeptCommit): number[] {
  const cutter = new BlockCutter();
  const starts = [0];
  for (const [at, entry] of entries.entries()) {
    const bytes = typeof entry === "number" ? (jobSizes[entry] ?? 0) : changeBytes(entry);
    if (cutter.add(bytes)) starts.push(at);
  }
  return starts;
}

/** The first block from `from` on that may have an entry for the filter; undefined: none. `after`: only later entries. */
export function nextBlock(
  commit: KeptCommit,
  { jobId }: WatchFilter,
  from: number,
  after: Revision | undefined,
): number | undefined {
  const list = entriesOf(commit);
  const { starts, revisions } = list;
  let first: number | undefined = starts[from];
  if (first === undefined) return undefined;
  if (after !== undefined) first = firstAfter(revisions, after, first);
  if (jobId !== undefined) {
    list.ofJob ??= indexByJob(commit, list);
    const least = first;
    first = list.ofJob.get(jobId)?.find((entry) => entry >= least);
  }
  if (first === undefined || first >= revisions.length) return undefined;
  const place = first;
  return starts.findLastIndex((start) => start <= place);
}

/** The first position from `from` on with a larger revision. */
function firstAfter(revisions: readonly Revision[], after: Revision, from: number): number {
  let [low, high] = [from, revisions.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((revisions[middle] ?? 0) <= after) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Revision of the last entry before a block: a watch that has seen all earlier blocks has seen everything up to it. */
export function revisionBefore(commit: KeptCommit, block: number): Revision {
  const { starts, revisions } = entriesOf(commit);
  const start = starts[block];
  if (start === undefined) return commit.revision;
  return revisions[start - 1] ?? commit.before;
}

function indexByJob(commit: KeptCommit, { entries }: EntryList): Map<JobId, number[]> {
  const ofJob = new Map<JobId, number[]>();
  for (const [at, entry] of entries.entries()) {
    const id = jobIdOf(commit, entry);
    if (id === undefined) continue;
    const known = ofJob.get(id);
    if (known === undefined) ofJob.set(id, [at]);
    else known.push(at);
  }
  return ofJob;
}

const kindOf = (entry: WatchEntry): WatchKind => (typeof entry === "number" ? "job" : entry.table);

/** Whether a watch with this filter gets this entry. */
export function isWanted(
  commit: KeptCommit,
  entry: WatchEntry,
  filter: WatchFilter,
  source: WatchSource,
): boolean {
  if (!filter.kinds.has(kindOf(entry))) return false;
  if (filter.jobId === undefined && filter.group === undefined) return true;
  const id = jobIdOf(commit, entry);
  if (id === undefined) return false;
  if (filter.jobId !== undefined && filter.jobId !== id) return false;
  if (filter.group === undefined) return true;
  const group = groupOf(commit, entry, id, source);
  // The event of a removed job cannot be shown; the watch must receive an error, not a gap.
  return group === undefined || group === filter.group;
}

function jobIdOf({ jobIds }: KeptCommit, entry: WatchEntry): JobId | undefined {
  if (typeof entry === "number") return jobIds[entry];
  if (entry.table === "task") return entry.row.jobId;
  return entry.table === "job" ? entry.removed : undefined;
}

function groupOf(
  commit: KeptCommit,
  entry: WatchEntry,
  id: JobId,
  source: WatchSource,
): GroupId | undefined {
  if (typeof entry === "number") return groupAt(commit, entry, source.jobOf);
  if (entry.table === "job") return commit.removedFrom.get(id);
  const at = entriesOf(commit).positions.get(id);
  return at === undefined ? undefined : groupAt(commit, at, source.jobOf);
}

/** Whether any entry may pass the filter: cheap, for watches that catch up. */
export function mayConcern(commit: KeptCommit, { kinds, jobId, group }: WatchFilter): boolean {
  if (jobId !== undefined) return commit.jobIds.includes(jobId) || removes(commit, jobId);
  if (kinds.has("job") && commit.jobIds.length > 0) return true;
  return commit.changes.some(
    ({ table }) => kinds.has(table) && (group === undefined || table === "task" || table === "job"),
  );
}

const removes = ({ removedFrom }: KeptCommit, id: JobId): boolean => removedFrom.has(id);

/** The job of a task that the commit changed; undefined: it was removed since. */
export function jobAt(commit: KeptCommit, id: JobId, { jobOf }: WatchSource): Job | undefined {
  const at = entriesOf(commit).positions.get(id);
  return at === undefined ? undefined : snapshotAt(commit, at, jobOf)?.job;
}

/**
 * The event of an entry, which has this revision; undefined: a job was removed since, and its
 * submission is lost.
 */
export function eventOf(
  commit: KeptCommit,
  entry: WatchEntry,
  revision: Revision,
  source: WatchSource,
): WatchEventView | undefined {
  if (typeof entry === "number") {
    const snapshot = snapshotAt(commit, entry, source.jobOf);
    if (snapshot === undefined) return undefined;
    const { job, progress, only } = snapshot;
    return { kind: "job", job: showJob(job, progress, { only, revision }), revision };
  }
  if ("removed" in entry) {
    const { table: what, removed, by } = entry;
    const id = String(removed);
    return { kind: "removed", what, id, ...(by === undefined ? {} : { by }), revision };
  }
  switch (entry.table) {
    case "task": {
      const { jobId, index } = entry.row;
      const job = jobAt(commit, jobId, source);
      if (job === undefined) return undefined;
      const shown = { row: entry.row, revision };
      return { kind: "task", task: showTask(job, index, shown, source.clusterOf), revision };
    }
    case "node": {
      const load = commit.loads.get(entry.row.id) ?? { used: {}, tasks: 0, held: 0 };
      return { kind: "node", node: showNode(entry.row, load, revision), revision };
    }
    case "cluster": {
      const status = commit.statuses.get(entry.row.id);
      return { kind: "cluster", cluster: showClusterRow(entry.row, status, revision), revision };
    }
    case "service":
      return { kind: "service", service: showServiceRow(entry.row, revision), revision };
    case "nexus":
      return { kind: "nexus", note: entry.row, revision };
    case "group":
      return { kind: "group", group: showGroupRow(entry.row, revision), revision };
  }
}
