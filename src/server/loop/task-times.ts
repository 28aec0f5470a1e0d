import type { ClusterId, GroupId, NodeId } from "../../core/model/ids.ts";
import type { Job } from "../../core/model/job/job.ts";
import type { Task, TaskState } from "../../core/model/job/task.ts";
import { Histogram } from "../../lib/histogram.ts";
import { limits } from "../../limits.ts";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A start takes milliseconds on a healthy node nearby, and seconds on an unhealthy one. */
const START_BOUNDS_MS = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, SECOND, 5 * SECOND, 30 * SECOND];
/** A wait or a run takes anything from milliseconds to days. */
const LONG_BOUNDS_MS = [
  10,
  100,
  SECOND,
  10 * SECOND,
  MINUTE,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  12 * HOUR,
  48 * HOUR,
];

/** The times of the tasks of one group on one cluster. */
export interface TaskTimesSeries {
  readonly group: string;
  readonly cluster: string;
  /** From submission, or the end of the attempt before, to the assignment to a node or cluster. */
  readonly queueWait: Histogram;
  /** From the assignment to the start of its process. */
  readonly startLatency: Histogram;
  /** Of every attempt that started, from its start to its end, however it ended. */
  readonly runTime: Histogram;
}

/** The name for pairs without their own series. No group or cluster can have it: names have no brackets. */
const OTHER = "(other)";

interface Ended {
  readonly startedAtMs: number | undefined;
  readonly endedAtMs: number;
}

/**
 * Measures how long tasks wait, start and run, by group and cluster. The number of groups
 * is not bounded here: the first pairs have a series each, all others share one.
 */
export class TaskTimes {
  readonly #clusterOf: (node: NodeId) => ClusterId | undefined;
  readonly #series = new Map<string, Map<string, TaskTimesSeries>>();
  #count = 0;
  /** The last series: consecutive tasks mostly belong to the same pair. */
  #last = newSeries(OTHER, OTHER);
  readonly #other = this.#last;

  constructor(clusterOf: (node: NodeId) => ClusterId | undefined) {
    this.#clusterOf = clusterOf;
  }

  *series(): Generator<TaskTimesSeries> {
    for (const clusters of this.#series.values()) yield* clusters.values();
    if (this.#count >= limits.metricSeriesMax) yield this.#other;
  }

  /** A task's row was replaced. */
  moved(job: Job, before: Task | undefined, after: Task): void {
    const placedAtMs = isPlaced(before?.state) ? undefined : placedAt(after.state);
    const ended = endOf(before, after);
    const startedAtMs = startOf(after.state) ?? ended?.startedAtMs;
    const isStart = before?.state.kind === "assigned" && startedAtMs !== undefined;
    if (placedAtMs === undefined && !isStart && ended?.startedAtMs === undefined) return;
    const series = this.#find(job.spec.group, this.#placeOf(before, after));
    if (placedAtMs !== undefined)
      series.queueWait.observe(placedAtMs - (before?.past.at(-1)?.endedAtMs ?? job.submittedAtMs));
    if (isStart) series.startLatency.observe(startedAtMs - before.state.assignedAtMs);
    if (ended?.startedAtMs !== undefined)
      series.runTime.observe(ended.endedAtMs - ended.startedAtMs);
  }

  #placeOf(before: Task | undefined, after: Task): string {
    const place = (state: TaskState | undefined): string | undefined => {
      if (state === undefined) return undefined;
      if ("nodeId" in state && state.nodeId !== undefined) return this.#clusterOf(state.nodeId);
      return "cluster" in state ? state.cluster : undefined;
    };
    return place(after.state) ?? place(before?.state) ?? "";
  }

  #find(group: GroupId, cluster: string): TaskTimesSeries {
    const last = this.#last;
    if (last.group === group && last.cluster === cluster) return last;
    const found = this.#series.get(group)?.get(cluster) ?? this.#add(group, cluster);
    this.#last = found;
    return found;
  }

  #add(group: GroupId, cluster: string): TaskTimesSeries {
    if (this.#count >= limits.metricSeriesMax) return this.#other;
    this.#count += 1;
    const added = newSeries(group, cluster);
    let clusters = this.#series.get(group);
    if (clusters === undefined) this.#series.set(group, (clusters = new Map()));
    clusters.set(cluster, added);
    return added;
  }
}

const newSeries = (group: string, cluster: string): TaskTimesSeries => ({
  group,
  cluster,
  queueWait: new Histogram(LONG_BOUNDS_MS),
  startLatency: new Histogram(START_BOUNDS_MS),
  runTime: new Histogram(LONG_BOUNDS_MS),
});

const isPlaced = (state: TaskState | undefined): boolean =>
  state !== undefined && ("assignedAtMs" in state || state.kind === "accepted");

/** The start of a held task that began and ended in one report. */
function placedAt(state: TaskState): number | undefined {
  if ("assignedAtMs" in state) return state.assignedAtMs;
  if (state.kind === "accepted") return state.acceptedAtMs;
  return "endedAtMs" in state ? state.startedAtMs : undefined;
}

const startOf = (state: TaskState): number | undefined =>
  "assignedAtMs" in state && "startedAtMs" in state ? state.startedAtMs : undefined;

/** The attempt that this change ends, for good or before another attempt. */
function endOf(before: Task | undefined, after: Task): Ended | undefined {
  if ("endedAtMs" in after.state) return after.state;
  return before === undefined || after.past === before.past ? undefined : after.past.at(-1);
}
