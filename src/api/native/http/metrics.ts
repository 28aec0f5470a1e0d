import { monitorEventLoopDelay } from "node:perf_hooks";
import type { Histogram } from "../../../lib/histogram.ts";
import { limits } from "../../../limits.ts";
import type { LoopTimes } from "../../../server/loop/loop-metrics.ts";
import type { TaskTimesSeries } from "../../../server/loop/task-times.ts";
import type { GroupView, StatsView } from "../../../server/views/views.ts";
import type { Traffic } from "../../grpc/traffic.ts";
import { counter, gauge, gauges, histogram, type MetricFamily } from "./prometheus.ts";

/** The contents of the control plane and its counters. */
export const statsMetrics = (stats: StatsView): MetricFamily[] => [
  {
    name: "busbar_build_info",
    help: "Version and store, as labels",
    type: "gauge",
    samples: [{ labels: { version: stats.version, store: stats.store }, value: 1 }],
  },
  gauge("busbar_uptime_seconds", "Time since the start", stats.uptimeMs / 1_000),
  gauge("busbar_revision", "Number of the latest change", stats.revision),
  gauges("busbar_jobs", "Jobs in each state", "state", stats.jobs),
  gauges("busbar_tasks", "Tasks in each state", "state", stats.tasks),
  gauges("busbar_nodes", "Nodes in each state", "state", stats.nodes),
  gauges("busbar_capacity", "Capacity of connected nodes", "resource", stats.capacity),
  gauges("busbar_used", "Resources that tasks use", "resource", stats.used),
  gauge("busbar_watches", "Open watches", stats.watches),
  gauge("busbar_agent_sessions", "Connected agents", stats.agentSessions),
  counter("busbar_commits_total", "Commits to the store", stats.commits),
  gauge("busbar_commit_mean_seconds", "Mean time of a commit", stats.commitMsMean / 1_000),
  gauge("busbar_commit_max_seconds", "Longest time of a commit", stats.commitMsMax / 1_000),
  counter("busbar_placements_total", "Placements", stats.placements),
  counter(
    "busbar_placements_refused_total",
    "Placements that failed the last check; they are tried again",
    stats.placementsRefused,
  ),
  {
    name: "busbar_progress_reports_total",
    help: "Progress reports of tasks, by result",
    type: "counter",
    samples: Object.entries(stats.progressReports).map(([outcome, value]) => ({
      labels: { outcome },
      value,
    })),
  },
  counter("busbar_tasks_ended_total", "Tasks that ended", stats.tasksEnded),
  counter("busbar_held_begun_total", "Tasks fetched ahead that nodes started", stats.heldBegun),
  counter(
    "busbar_held_returned_total",
    "Tasks fetched ahead that nodes returned",
    stats.heldReturned,
  ),
  counter(
    "busbar_task_cpu_seconds_total",
    "User and system time of attempts that ended",
    (stats.usage.cpuMs ?? 0) / 1_000,
  ),
  counter(
    "busbar_task_wall_seconds_total",
    "Time from start to end of attempts that ended",
    (stats.usage.wallMs ?? 0) / 1_000,
  ),
  counter(
    "busbar_task_major_faults_total",
    "Page faults that had to read from a disk, of attempts that ended",
    stats.usage.majorFaults ?? 0,
  ),
];

/** The usage of groups, for those with the most CPU: the number of series stays bounded. */
export function groupMetrics(groups: readonly GroupView[]): MetricFamily[] {
  const cpuMs = ({ usage }: GroupView): number => usage?.cpuMs ?? 0;
  const shown = groups
    .filter(({ usage }) => usage !== undefined)
    .sort((a, b) => cpuMs(b) - cpuMs(a))
    .slice(0, limits.metricGroupsMax);
  const family = (name: string, help: string, value: (group: GroupView) => number) =>
    gauges(name, help, "group", Object.fromEntries(shown.map((one) => [one.name, value(one)])));
  const whose = "of retained tasks, for the groups that used the most CPU";
  return [
    family(
      "busbar_group_cpu_seconds",
      `User and system time ${whose}`,
      (one) => cpuMs(one) / 1_000,
    ),
    family(
      "busbar_group_wall_seconds",
      `Time from start to end ${whose}`,
      ({ usage }) => (usage?.wallMs ?? 0) / 1_000,
    ),
    family(
      "busbar_group_major_faults",
      `Page faults that had to read from a disk ${whose}`,
      ({ usage }) => usage?.majorFaults ?? 0,
    ),
  ];
}

export function trafficMetrics(traffic: Traffic): MetricFamily[] {
  const methods = [...traffic.methods()];
  return [
    {
      name: "busbar_requests_total",
      help: "Calls by how they ended",
      type: "counter",
      samples: methods.flatMap(({ door, method, calls }) =>
        [...calls].map(([code, value]) => ({ labels: { door, method, code }, value })),
      ),
    },
    histogram(
      "busbar_request_seconds",
      "How long calls took; streams count until they end",
      methods.map(({ door, method, times }) => ({ labels: { door, method }, times })),
    ),
  ];
}

/** The durations of commits, and how long tasks waited, started and ran: the number of series is bounded. */
export function timeMetrics({ commits, tasks }: LoopTimes): MetricFamily[] {
  const family = (name: string, help: string, times: (one: TaskTimesSeries) => Histogram) =>
    histogram(
      name,
      `${help}, by group and cluster`,
      tasks.map((one) => ({
        labels: { group: one.group, cluster: one.cluster },
        times: times(one),
      })),
    );
  return [
    histogram("busbar_commit_seconds", "How long commits to the store took", [
      { labels: {}, times: commits },
    ]),
    family(
      "busbar_task_queue_wait_seconds",
      "Time from submission, or the end of the attempt before, to the assignment",
      ({ queueWait }) => queueWait,
    ),
    family(
      "busbar_task_start_latency_seconds",
      "Time from the assignment to the start of the process",
      ({ startLatency }) => startLatency,
    ),
    family(
      "busbar_task_run_seconds",
      "Time from start to end of attempts",
      ({ runTime }) => runTime,
    ),
  ];
}

/** The metrics of the process. The loop's delay is measured between two scrapes. */
export interface ProcessMeter {
  metrics(): MetricFamily[];
  close(): void;
}

export function createProcessMeter(): ProcessMeter {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  return {
    metrics() {
      const families = processMetrics(delay);
      delay.reset();
      return families;
    },
    close: () => void delay.disable(),
  };
}

function processMetrics(delay: ReturnType<typeof monitorEventLoopDelay>): MetricFamily[] {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, heapTotal, external } = process.memoryUsage();
  const startedAtSeconds = Date.now() / 1_000 - process.uptime();
  // Without a sample the histogram returns a wrong value: a smallest delay of years.
  const seconds = (ns: number): number => (delay.count === 0 ? 0 : ns / 1e9);
  return [
    counter("process_cpu_seconds_total", "CPU time", (user + system) / 1e6),
    gauge(
      "process_start_time_seconds",
      "Start of the process, in seconds since 1970",
      startedAtSeconds,
    ),
    gauge("process_resident_memory_bytes", "Memory of the process", rss),
    gauge("nodejs_heap_used_bytes", "Heap in use", heapUsed),
    gauge("nodejs_heap_total_bytes", "Heap in all", heapTotal),
    gauge("nodejs_external_memory_bytes", "Memory of buffers", external),
    gauge(
      "nodejs_eventloop_delay_mean_seconds",
      "Mean delay of the event loop",
      seconds(delay.mean),
    ),
    gauge(
      "nodejs_eventloop_delay_max_seconds",
      "Longest delay of the event loop",
      seconds(delay.max),
    ),
  ];
}
