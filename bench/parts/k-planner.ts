import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { toJobSpec, type JobSpecInput } from "../../src/core/model/job/job-spec.ts";
import type { JobSpec } from "../../src/core/model/job/job.ts";
import type { Task } from "../../src/core/model/job/task.ts";
import { Core } from "../support/core.ts";
import { atMost, type Bench, type Case, type Measure } from "../support/part.ts";

const STEPS = 5_000;
/** A row that is slower than this stops and divides by its finished steps. */
const CPU_MS_MAX = 5_000;
const CLUSTERS = 100;
const MB = 1_000_000;

const spec = (input: Partial<JobSpecInput>): JobSpec => toJobSpec({ command: ["true"], ...input });

const times = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

/** CPU of this thread since `before`, in milliseconds. */
function cpuMs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** CPU of this thread per task, in milliseconds. */
function cpuPerTask(bench: Bench, step: (at: number) => void): { ms: number; tasks: number } {
  const before = process.cpuUsage();
  const steps = bench.count(STEPS);
  let tasks = 0;
  while (tasks < steps && cpuMs(before) < CPU_MS_MAX) step(tasks++);
  bench.worked(tasks);
  return { ms: cpuMs(before) / tasks, tasks };
}

/** A world of a certain size, and its repeated step. */
interface Rows {
  readonly id: string;
  readonly what: string;
  /** All sizes except the first must take at most `times` as long as the first one. */
  readonly sizes: readonly number[];
  readonly unit: string;
  readonly times?: number;
  readonly world: (core: Core, size: number) => (at: number) => void;
}

const rows = ({ id, what, sizes, unit, times: most = 2, world }: Rows): Case => ({
  id,
  what: `the planner alone: ${what}`,
  async run(bench) {
    let base: number | undefined;
    return sizes.map((size): Measure => {
      bench.progress(`${size} ${unit}`);
      const { ms, tasks } = cpuPerTask(bench, world(new Core("spread"), size));
      const must = base === undefined ? {} : { must: atMost(most * base) };
      base ??= ms;
      const name = `${size.toLocaleString("en")} ${unit}`;
      return { name, value: ms, unit: "ms CPU", ...must, note: `${tasks} tasks` };
    });
  },
});

/** Enough for all steps, of each size. */
const backlog = (count: number): string => `0-${Math.ceil((4 * STEPS) / count) + 10}`;

/** Repeatedly ends one task, and places what fits then. */
function endAndPlace(core: Core): () => void {
  const running = core.place();
  return () => {
    const ended = running.shift();
    if (ended !== undefined) core.end(ended);
    running.push(...core.place());
  };
}

/** One full node of 8 cpus with a backlog of these. */
function oneFullNode(core: Core, specs: readonly JobSpec[]): () => void {
  core.connect(0, { cluster: "c", cpus: 8 });
  core.submit(specs);
  return endAndPlace(core);
}

function connectAll(core: Core, nodes: number, clusters: number): void {
  for (let at = 0; at < nodes; at++) core.connect(at, { cluster: `c${at % clusters}`, cpus: 8 });
}

export const groups = rows({
  id: "k.groups",
  what: "one full node of 8 cpus, every group with a backlog of one class",
  sizes: [10, 1, 300, 1_000, 3_000, 10_000],
  unit: "groups",
  world: (core, count) =>
    oneFullNode(
      core,
      times(count, (at) => spec({ group: `g${at}`, array: backlog(count) })),
    ),
});

export const classes = rows({
  id: "k.classes",
  what: "one full node of 8 cpus, classes that all fit the capacity that one task frees",
  sizes: [1, 100, 1_000, 4_000],
  unit: "classes",
  world: (core, count) =>
    oneFullNode(
      core,
      times(count, (at) =>
        spec({ resources: { cpu: 1, memory: 1_000 + at }, array: backlog(count) }),
      ),
    ),
});

export const pinned = rows({
  id: "k.pinned",
  what: "one job after another, each pinned to a node, from submission to end",
  sizes: [100, 1_000, 10_000],
  unit: "nodes",
  world: (core, count) => {
    connectAll(core, count, 1);
    return (at) => {
      core.submit([spec({ placement: { node: `n${(at * 7_919) % count}` } })]);
      for (const task of core.place()) core.end(task);
    };
  },
});

const cores = (count: number): JobSpecInput["request"] => [
  [
    {
      type: "core",
      count,
      unit: undefined,
      isSlot: false,
      isExclusive: false,
      label: undefined,
      requires: [],
      with: [],
    },
  ],
];

export const graphClusters = rows({
  id: "k.graph-clusters",
  what: `jobs with graph requests over ${CLUSTERS} managed clusters`,
  sizes: [300, 1_000, 3_000],
  unit: "nodes",
  world: (core, count) => {
    connectAll(core, count, CLUSTERS);
    core.submit([spec({ request: cores(1), array: "0-99999" })]);
    return endAndPlace(core);
  },
});

export const graphClustersIdle = rows({
  id: "k.graph-clusters-idle",
  what: "the same with idle nodes: each job is submitted, placed and ended",
  sizes: [300, 1_000, 3_000],
  unit: "nodes",
  world: (core, count) => {
    connectAll(core, count, CLUSTERS);
    const request = cores(1);
    const running: Task[] = [];
    return () => {
      core.submit([spec({ request })]);
      running.push(...core.place());
      const ended = running.length > count ? running.shift() : undefined;
      if (ended !== undefined) core.end(ended);
    };
  },
});

export const graphRequests = rows({
  id: "k.graph-requests",
  what: "1,000 full nodes, so many different graph requests that fit nowhere; one task ends",
  sizes: [1, 16, 100, 1_000],
  unit: "requests",
  times: 20,
  world: (core, count) => {
    connectAll(core, 1_000, 1);
    core.submit([spec({ array: "0-99999" })]);
    const step = endAndPlace(core);
    core.submit(times(count, (at) => spec({ request: cores(9 + at) })));
    core.place();
    return step;
  },
});

export const limitedGroups: Case = {
  id: "k.limited-groups",
  what: "the planner alone: 1,000 groups at runningTasksMax, and one with 15,000 tasks to run",
  async run(bench) {
    const core = new Core("spread");
    core.connect(0, { cluster: "c", cpus: 1_004 });
    for (let at = 0; at < 1_000; at++) core.limitGroup(`g${at}`, 1);
    core.submit(times(1_000, (at) => spec({ group: `g${at}`, array: "0-99" })));
    core.place();
    core.submit([spec({ group: "working", array: "0-99999" })]);
    const step = endAndPlace(core);
    setFlagsFromString("--expose-gc");
    const gc = runInNewContext("gc") as () => void;
    gc();
    const before = process.memoryUsage().heapUsed;
    const tasks = bench.count(15_000);
    const from = process.cpuUsage();
    for (let at = 0; at < tasks; at++) step();
    const perTask = cpuMs(from) / tasks;
    gc();
    bench.worked(tasks);
    const grown = (process.memoryUsage().heapUsed - before) / MB;
    core.place(); // so it is still in memory
    return [
      { name: "memory for 15,000 tasks", value: grown, unit: "MB", must: atMost(30) },
      { name: "per task", value: perTask, unit: "ms CPU" },
    ];
  },
};
