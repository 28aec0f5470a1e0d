import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { toJobSpec, type JobSpecInput } from "../../src/core/model/job-spec.ts";
import type { JobSpec } from "../../src/core/model/job.ts";
import type { Task } from "../../src/core/model/task.ts";
import { Core } from "../support/core.ts";
import { atMost, type Bench, type Case, type Measure } from "../support/part.ts";

const STEPS = 5_000;
/** A row that is slower than this stops and divides by what it did. */
const CPU_MS_MAX = 5_000;
const CLUSTERS = 100;
const MB = 1_000_000;

/** CPU of this thread per task, in milliseconds. */
function cpuPerTask(bench: Bench, step: (at: number) => void): { ms: number; tasks: number } {
  const before = process.cpuUsage();
  const spentMs = (): number => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  const steps = bench.count(STEPS);
  let tasks = 0;
  while (tasks < steps && spentMs() < CPU_MS_MAX) step(tasks++);
  bench.worked(tasks);
  return { ms: spentMs() / tasks, tasks };
}

/** Rows by size; all but the first must take at most `times` as long as the first one. */
function rows(
  bench: Bench,
  { sizes, unit, times }: { sizes: readonly number[]; unit: string; times: number },
  measure: (size: number) => { ms: number; tasks: number },
): readonly Measure[] {
  let base: number | undefined;
  return sizes.map((size) => {
    bench.progress(`${size} ${unit}`);
    const { ms, tasks } = measure(size);
    const must = base === undefined ? {} : { must: atMost(times * base) };
    base ??= ms;
    return {
      name: `${size.toLocaleString("en")} ${unit}`,
      value: ms,
      unit: "ms CPU",
      ...must,
      note: `${tasks} tasks`,
    };
  });
}

const spec = (input: Partial<JobSpecInput>): JobSpec => toJobSpec({ command: ["true"], ...input });

/** Enough for all steps, of each of so many. */
const backlog = (count: number): string => `0-${Math.ceil((4 * STEPS) / count) + 10}`;

/** One task ends, and what can be placed then is. */
function endAndPlace(core: Core, running: Task[]): void {
  const ended = running.shift();
  if (ended !== undefined) core.end(ended);
  running.push(...core.place());
}

export const groups: Case = {
  id: "k.groups",
  what: "the planner alone: one full node of 8 cpus, every group with a backlog of one class",
  async run(bench) {
    const sizes = [10, 1, 300, 1_000, 3_000, 10_000];
    return rows(bench, { sizes, unit: "groups", times: 2 }, (count) => {
      const core = new Core("spread");
      core.connect(0, { cluster: "c", cpus: 8 });
      core.submit(
        Array.from({ length: count }, (_, at) => spec({ group: `g${at}`, array: backlog(count) })),
      );
      const running = core.place();
      return cpuPerTask(bench, () => endAndPlace(core, running));
    });
  },
};

export const classes: Case = {
  id: "k.classes",
  what: "the planner alone: one full node of 8 cpus, classes that all fit what one task leaves",
  async run(bench) {
    const sizes = [1, 100, 1_000, 4_000];
    return rows(bench, { sizes, unit: "classes", times: 2 }, (count) => {
      const core = new Core("spread");
      core.connect(0, { cluster: "c", cpus: 8 });
      core.submit(
        Array.from({ length: count }, (_, at) =>
          spec({ resources: { cpu: 1, memory: 1_000 + at }, array: backlog(count) }),
        ),
      );
      const running = core.place();
      return cpuPerTask(bench, () => endAndPlace(core, running));
    });
  },
};

export const pinned: Case = {
  id: "k.pinned",
  what: "the planner alone: one job after the other, each pinned to a node, submitted to ended",
  async run(bench) {
    const sizes = [100, 1_000, 10_000];
    return rows(bench, { sizes, unit: "nodes", times: 2 }, (count) => {
      const core = new Core("spread");
      for (let at = 0; at < count; at++) core.connect(at, { cluster: "c", cpus: 8 });
      return cpuPerTask(bench, (at) => {
        core.submit([spec({ placement: { node: `n${(at * 7_919) % count}` } })]);
        for (const task of core.place()) core.end(task);
      });
    });
  },
};

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

export const graphClusters: Case = {
  id: "k.graph-clusters",
  what: `the planner alone: jobs by a request of graphs over ${CLUSTERS} managed clusters`,
  async run(bench) {
    const sizes = [300, 1_000, 3_000];
    return rows(bench, { sizes, unit: "nodes", times: 2 }, (count) => {
      const core = new Core("spread");
      for (let at = 0; at < count; at++) {
        core.connect(at, { cluster: `c${at % CLUSTERS}`, cpus: 8 });
      }
      core.submit([spec({ request: cores(1), array: "0-99999" })]);
      const running = core.place();
      return cpuPerTask(bench, () => endAndPlace(core, running));
    });
  },
};

export const graphClustersIdle: Case = {
  id: "k.graph-clusters-idle",
  what: `the same with nodes that are idle: each job is submitted, placed and ended`,
  async run(bench) {
    const sizes = [300, 1_000, 3_000];
    return rows(bench, { sizes, unit: "nodes", times: 2 }, (count) => {
      const core = new Core("spread");
      for (let at = 0; at < count; at++) {
        core.connect(at, { cluster: `c${at % CLUSTERS}`, cpus: 8 });
      }
      const request = cores(1);
      const running: Task[] = [];
      return cpuPerTask(bench, () => {
        core.submit([spec({ request })]);
        running.push(...core.place());
        const ended = running.length > count ? running.shift() : undefined;
        if (ended !== undefined) core.end(ended);
      });
    });
  },
};

export const limitedGroups: Case = {
  id: "k.limited-groups",
  what: "the planner alone: 1,000 groups at runningTasksMax, and one that works off 15,000 tasks",
  async run(bench) {
    const core = new Core("spread");
    core.connect(0, { cluster: "c", cpus: 1_004 });
    for (let at = 0; at < 1_000; at++) core.limitGroup(`g${at}`, 1);
    core.submit(Array.from({ length: 1_000 }, (_, at) => spec({ group: `g${at}`, array: "0-99" })));
    core.place();
    core.submit([spec({ group: "working", array: "0-99999" })]);
    const running = core.place();
    setFlagsFromString("--expose-gc");
    const gc = runInNewContext("gc") as () => void;
    gc();
    const before = process.memoryUsage().heapUsed;
    const tasks = bench.count(15_000);
    const from = process.cpuUsage();
    for (let at = 0; at < tasks; at++) endAndPlace(core, running);
    const { user, system } = process.cpuUsage(from);
    gc();
    bench.worked(tasks);
    const grown = (process.memoryUsage().heapUsed - before) / MB;
    core.place(); // which is thereby still in memory
    return [
      { name: "memory for 15,000 tasks", value: grown, unit: "MB", must: atMost(30) },
      { name: "per task", value: (user + system) / 1_000 / tasks, unit: "ms CPU" },
    ];
  },
};
