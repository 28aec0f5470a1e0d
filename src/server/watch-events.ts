import type { Revision } from "../core/model/ids.ts";
import { groupId, parseTaskId, revision } from "../core/model/ids.ts";
import type { GroupId, JobId } from "../core/model/ids.ts";
import type { Change } from "../core/state/change.ts";
import type { State } from "../core/state/state.ts";
import type { Commit } from "./open-batch.ts";
import { invalid } from "../lib/errors.ts";
import type { OperationContext } from "./create-operations.ts";
import type { WatchQuery } from "./operations.ts";
import { showGroupRow, showJob, showNode, showTask } from "./show.ts";
import type { WatchEventView } from "./views.ts";

type Kind = "job" | "task" | "node" | "group";

interface Wanted {
  readonly kinds: ReadonlySet<Kind>;
  readonly jobId: JobId | undefined;
  readonly group: GroupId | undefined;
}

const ALL: readonly Kind[] = ["job", "task", "node", "group"];

/** Commits as events for one watcher. A job or task that a commit touched is told once, at its end. */
export async function* watchEvents(
  { loop, hub }: OperationContext,
  query: WatchQuery,
  signal: AbortSignal,
): AsyncGenerator<WatchEventView> {
  const wanted: Wanted = {
    kinds: new Set(query.kinds === undefined || query.kinds.length === 0 ? ALL : query.kinds),
    jobId: query.jobId === undefined ? undefined : parseTaskId(query.jobId, "jobId").jobId,
    group: query.group === undefined ? undefined : groupId(query.group),
  };
  const state = loop.peek((now) => now); // only for the cluster that a node is in
  const { from, commits, close } = hub.watch(checkRevision(query.afterRevision), signal);
  try {
    yield { kind: "sync", revision: from };
    for await (const commit of commits) yield* eventsOf(state, commit, wanted);
  } finally {
    close();
  }
}

function checkRevision(after: number | undefined): Revision | undefined {
  if (after === undefined) return undefined;
  if (!Number.isSafeInteger(after) || after < 0) {
    throw invalid("afterRevision", `must be a whole number from 0, not ${after}`);
  }
  return revision(after);
}

function* eventsOf(state: State, commit: Commit, wanted: Wanted): Iterable<WatchEventView> {
  const replaced = replacedIn(commit);
  for (const change of commit.changes) {
    const event = replaced.has(change) ? undefined : eventOf(state, commit, change, wanted);
    if (event !== undefined) yield event;
  }
  if (!wanted.kinds.has("job")) return;
  for (const [id, { job, progress, only }] of commit.jobs) {
    if (!concerns(wanted, id, job.spec.group)) continue;
    const shown = showJob(job, progress, { only, revision: commit.revision });
    yield { kind: "job", job: shown, revision: commit.revision };
  }
}

const replacedByCommit = new WeakMap<Commit, ReadonlySet<Change>>();

/**
 * Rows of tasks that a later change of the same commit replaced. They are not told: beside the job
 * as it stood at the end of the commit they could show an end that never was.
 */
function replacedIn(commit: Commit): ReadonlySet<Change> {
  const known = replacedByCommit.get(commit);
  if (known !== undefined) return known;
  const replaced = new Set<Change>();
  const last = new Map<string, Change>();
  for (const change of commit.changes) {
    if (change.table !== "task") continue;
    const key = `${change.row.jobId}.${change.row.index}`;
    const before = last.get(key);
    if (before !== undefined) replaced.add(before);
    last.set(key, change);
  }
  replacedByCommit.set(commit, replaced);
  return replaced;
}

const concerns = (wanted: Wanted, id: JobId, group: GroupId): boolean =>
  (wanted.jobId === undefined || wanted.jobId === id) &&
  (wanted.group === undefined || wanted.group === group);

function eventOf(
  state: State,
  commit: Commit,
  change: Change,
  wanted: Wanted,
): WatchEventView | undefined {
  const at = commit.revision;
  const isAboutJob = wanted.jobId !== undefined || wanted.group !== undefined;
  switch (change.table) {
    case "task": {
      const { jobId, index } = change.row;
      const job = commit.jobs.get(jobId)?.job;
      if (!wanted.kinds.has("task") || job === undefined) return undefined;
      if (!concerns(wanted, jobId, job.spec.group)) return undefined;
      const clusterOf = (node: string): string | undefined =>
        state.nodes.get(node as never)?.node.cluster;
      return { kind: "task", task: showTask(job, index, change.row, clusterOf), revision: at };
    }
    case "job":
      if (!("removed" in change) || !wanted.kinds.has("job")) return undefined;
      if (wanted.jobId !== undefined && wanted.jobId !== change.removed) return undefined;
      return { kind: "removed", what: "job", id: String(change.removed), revision: at };
    case "node":
      if (!wanted.kinds.has("node") || isAboutJob) return undefined;
      if ("removed" in change)
        return { kind: "removed", what: "node", id: change.removed, revision: at };
      return {
        kind: "node",
        node: showNode(change.row, commit.loads.get(change.row.id) ?? { used: {}, tasks: 0 }, at),
        revision: at,
      };
    case "group":
      if (!wanted.kinds.has("group") || isAboutJob) return undefined;
      if ("removed" in change)
        return { kind: "removed", what: "group", id: change.removed, revision: at };
      return { kind: "group", group: showGroupRow(change.row), revision: at };
    case "cluster":
    case "graph":
    case "subsystem":
    case "declared":
    case "status":
    case "facts":
    case "counter":
    case "credential": // not even a hash leaves
      return undefined;
  }
}
