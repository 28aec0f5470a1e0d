import type { GroupId, JobId } from "../../core/model/ids.ts";
import type { KeptCommit, JobLookup, ShownChange } from "./kept-commit.ts";
import { BlockCutter, changeBytes, groupAt, snapshotAt } from "./kept-commit.ts";
import { showGroupRow, showJob, showNode, showTask } from "../views/show.ts";
import type { WatchEventView } from "../views/views.ts";
import type { WatchFilter, WatchKind } from "./watch-filter.ts";

/** What an event shows beside its commit. */
export interface WatchSource {
  /** The job as it is now, or undefined when it was removed. */
  readonly jobOf: JobLookup;
  readonly clusterOf: (node: string) => string | undefined;
}

/** The events of a commit in their order: its changes, then its jobs by their position. */
export type WatchEntry = ShownChange | number;

/** The entries of a commit, cut into blocks of bounded size: what is rendered and sent at once. */
export interface EntryList {
  readonly entries: readonly WatchEntry[];
  /** Where each block begins. */
  readonly starts: readonly number[];
  /** Positions of jobs, for the tasks of the same commit. */
  readonly positions: ReadonlyMap<JobId, number>;
  /** Which entries are of a job; made when the first watch of one job reads the commit. */
  ofJob: ReadonlyMap<JobId, readonly number[]> | undefined;
}

const listed = new WeakMap<KeptCommit, EntryList>();

/** Made when the first watcher reads the commit: without watchers a commit costs none of this. */
export function entriesOf(commit: KeptCommit): EntryList {
  const known = listed.get(commit);
  if (known !== undefined) return known;
  const changes = withoutReplaced(commit.changes);
  const entries: WatchEntry[] = [...changes, ...commit.jobIds.keys()];
  const positions = new Map(commit.jobIds.map((id, at) => [id, at]));
  const list: EntryList = { entries, starts: cut(changes, commit), positions, ofJob: undefined };
  listed.set(commit, list);
  return list;
}

/**
 * Without rows of tasks that a later change of the same commit replaced: beside the job as it stood
 * at the end of the commit they could show an end that never was.
 */
function withoutReplaced(changes: readonly ShownChange[]): readonly ShownChange[] {
  const last = new Map<string, ShownChange>();
  for (const change of changes) {
    if (change.table === "task") last.set(`${change.row.jobId}.${change.row.index}`, change);
  }
  return changes.filter(
    (change) =>
      change.table !== "task" || last.get(`${change.row.jobId}.${change.row.index}`) === change,
  );
}

/** The last changes and the first jobs share a block: most commits are one. */
function cut(changes: readonly ShownChange[], { cuts }: KeptCommit): number[] {
  const cutter = new BlockCutter();
  const starts = [0];
  for (const [at, change] of changes.entries()) {
    if (cutter.add(changeBytes(change))) starts.push(at);
  }
  return [...starts, ...cuts.map((at) => changes.length + at)];
}

/** The first block from `from` on that may hold something for the filter; undefined: none does. */
export function nextBlock(
  commit: KeptCommit,
  { jobId }: WatchFilter,
  from: number,
): number | undefined {
  const list = entriesOf(commit);
  const { starts } = list;
  if (from >= starts.length) return undefined;
  if (jobId === undefined) return from;
  list.ofJob ??= indexByJob(commit, list);
  const first = list.ofJob.get(jobId)?.find((entry) => entry >= (starts[from] ?? 0));
  if (first === undefined) return undefined;
  return starts.findLastIndex((start) => start <= first);
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
  // The event of a removed job cannot be shown; the watch must learn that, not miss it.
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

/** Whether any entry may be wanted: cheap, for watchers that read what they missed. */
export function mayConcern(commit: KeptCommit, { kinds, jobId, group }: WatchFilter): boolean {
  if (jobId !== undefined) return commit.jobIds.includes(jobId) || removes(commit, jobId);
  if (kinds.has("job") && commit.jobIds.length > 0) return true;
  return commit.changes.some(
    ({ table }) => kinds.has(table) && (group === undefined || table === "task" || table === "job"),
  );
}

const removes = ({ removedFrom }: KeptCommit, id: JobId): boolean => removedFrom.has(id);

/** The event of an entry; undefined: a job was removed since, and its submission is lost. */
export function eventOf(
  commit: KeptCommit,
  entry: WatchEntry,
  source: WatchSource,
): WatchEventView | undefined {
  const { revision } = commit;
  if (typeof entry === "number") {
    const snapshot = snapshotAt(commit, entry, source.jobOf);
    if (snapshot === undefined) return undefined;
    const { job, progress, only } = snapshot;
    return { kind: "job", job: showJob(job, progress, { only, revision }), revision };
  }
  switch (entry.table) {
    case "task": {
      const { jobId, index } = entry.row;
      const at = entriesOf(commit).positions.get(jobId);
      const job = at === undefined ? undefined : snapshotAt(commit, at, source.jobOf)?.job;
      if (job === undefined) return undefined;
      return { kind: "task", task: showTask(job, index, entry.row, source.clusterOf), revision };
    }
    case "job":
      return { kind: "removed", what: "job", id: String(entry.removed), revision };
    case "node": {
      if ("removed" in entry) return { kind: "removed", what: "node", id: entry.removed, revision };
      const load = commit.loads.get(entry.row.id) ?? { used: {}, tasks: 0, held: 0 };
      return { kind: "node", node: showNode(entry.row, load, revision), revision };
    }
    case "group":
      if ("removed" in entry) {
        return { kind: "removed", what: "group", id: entry.removed, revision };
      }
      return { kind: "group", group: showGroupRow(entry.row), revision };
  }
}
