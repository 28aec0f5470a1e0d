import type { BusbarClient } from "../../client/client.ts";
import { stateOf } from "../../client/state.ts";
import { toGroupRow, toJobRow, toNodeRow, toStatsRow } from "../json.ts";
import type { GroupRow, JobRow, NodeRow, StatsRow } from "../rows.ts";

/** One frame of `busbar top`, and the answer of `--output json`. */
export interface TopFrame {
  readonly atMs: number;
  readonly server: string;
  readonly stats: StatsRow;
  /** Tasks that ended per second, since the previous frame. */
  readonly endsPerSecond: number;
  /** Tasks that were placed per second. */
  readonly placementsPerSecond: number;
  /** Pending tasks by reason, of the newest pending jobs. */
  readonly pending: readonly { readonly reason: string; readonly tasks: number }[];
  readonly waits: Waits;
  readonly nodes: readonly NodeRow[];
  /** Whether there are more nodes than were read. */
  readonly moreNodes: boolean;
  readonly groups: readonly GroupRow[];
  readonly jobs: readonly JobRow[];
}

export interface Waits {
  /** The median wait of the newest running jobs; undefined: none runs. */
  readonly medianMs?: number;
  /** For the newest pending jobs: since when the first has been pending. */
  readonly longestMs?: number;
}

/**
 * However large the server is, a frame costs it no more than this: so many nodes by name, and so many of the newest pending and running
 * jobs. The server maintains totals as they change.
 */
const NODES_READ = 500;
const JOBS_READ = 100;

/** Reads one frame. `before`: the last one, for rates. */
export async function readTop(
  client: BusbarClient,
  nowMs: () => number,
  before: TopFrame | undefined,
): Promise<TopFrame> {
  const newest = (state: "pending" | "running") =>
    client.listJobs({ filter: { states: [stateOf(state)] }, pageSize: JOBS_READ });
  const [stats, nodes, groups, pending, running] = await Promise.all([
    client.getStats({}),
    client.listNodes({ pageSize: NODES_READ }),
    client.listGroups({}),
    newest("pending"),
    newest("running"),
  ]);
  const atMs = nowMs();
  const row = toStatsRow(stats);
  const waiting = pending.jobs.map(toJobRow);
  const jobs = running.jobs.map(toJobRow);
  const rate = (name: "tasksEnded" | "placements"): number => {
    const seconds = before === undefined ? 0 : (atMs - before.atMs) / 1_000;
    const grown = row[name] - (before?.stats[name] ?? 0);
    // Negative: the server was restarted meanwhile.
    return seconds <= 0 ? 0 : Math.max(0, grown) / seconds;
  };
  return {
    atMs,
    server: client.server,
    stats: row,
    endsPerSecond: rate("tasksEnded"),
    placementsPerSecond: rate("placements"),
    pending: byReason(waiting),
    waits: waitsOf(waiting, jobs, atMs),
    nodes: nodes.nodes.map(toNodeRow),
    moreNodes: nodes.nextPageToken !== undefined,
    groups: groups.groups.map(toGroupRow),
    jobs,
  };
}

function byReason(jobs: readonly JobRow[]): TopFrame["pending"] {
  const tasks = new Map<string, number>();
  for (const { reason = "not read yet", tasks: counts } of jobs) {
    tasks.set(reason, (tasks.get(reason) ?? 0) + counts.pending + counts.waiting);
  }
  return [...tasks]
    .map(([reason, count]) => ({ reason, tasks: count }))
    .sort((a, b) => b.tasks - a.tasks);
}

function waitsOf(pending: readonly JobRow[], running: readonly JobRow[], nowMs: number): Waits {
  const waited = running
    .flatMap(({ startedAtMs, submittedAtMs }) =>
      startedAtMs === undefined ? [] : [Math.max(0, startedAtMs - submittedAtMs)],
    )
    .sort((a, b) => a - b);
  const medianMs = waited[Math.floor(waited.length / 2)];
  const first = pending.at(-1)?.submittedAtMs;
  return {
    ...(medianMs === undefined ? {} : { medianMs }),
    ...(first === undefined ? {} : { longestMs: Math.max(0, nowMs - first) }),
  };
}
