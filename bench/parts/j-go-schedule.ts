import type { InstantAgentOptions } from "../instant-agent.ts";
import { isEnded } from "../../src/client/state.ts";
import { type GoSchedule, startGoSchedule } from "../support/go-schedule.ts";
import { median, percentile, sleep, waitUntil } from "../support/numbers.ts";
import { atLeast, atMost, type Bench, type Case, type Measure } from "../support/part.ts";
import { startMeter } from "../support/proc.ts";
import { describeCommits } from "../support/site.ts";

const TASKS = 1_000;
const WORKERS = 3;
/** The best of go-schedule's own server with as many workers on such a machine, 244 to 280/s. */
const RATE_MUST = 280;
const ROUNDS = 3;
const POLL_MS = 10;
const SETTLE_MS = 2_000; // until the consequences of ends are done too

const trueTasks = (count: number) => Array.from({ length: count }, () => ({ cmd: "true" }));

async function open(
  bench: Bench,
  workers: number,
  measure: (world: GoSchedule) => Promise<readonly Measure[]>,
): Promise<readonly Measure[]> {
  const world = await startGoSchedule(bench.openSite(), workers);
  try {
    return await measure(world);
  } finally {
    await world.close();
  }
}

export const manyTasks: Case = {
  id: "j.tasks",
  what: `true x ${TASKS} by one Schedule on ${WORKERS} of go-schedule's workers, until the last is done`,
  run: (bench) =>
    open(bench, WORKERS, async (world) => {
      const { server, workers } = world;
      const tasks = bench.count(TASKS);
      const rounds = bench.isQuick ? 1 : ROUNDS;
      const [one, two, three] = workers.map(({ pid }) => pid);
      const pids = { server: server.process.pid, one: one ?? 0, two: two ?? 0, three: three ?? 0 };
      const stop = startMeter(pids);
      const rates: number[] = [];
      for (let round = 1; round <= rounds; round++) {
        const beginMs = performance.now();
        await world.scheduler.schedule({ tasks: trueTasks(tasks) });
        const areDone = async (): Promise<boolean> =>
          Number((await server.client.countJobs({})).tasks?.succeeded) === tasks * round;
        await waitUntil("the tasks", areDone, { everyMs: POLL_MS, timeoutMs: 300_000 });
        rates.push((tasks * 1_000) / (performance.now() - beginMs));
      }
      const cpuMsPerTask = stop(tasks * rounds);
      bench.worked(tasks * rounds);
      const note = `${rates.map(Math.round).join(", ")}/s; ${await describeCommits(server, tasks * rounds)}`;
      const rate = { name: "busbar", value: median(rates), unit: "tasks/s", cpuMsPerTask, note };
      return [{ ...rate, must: atLeast(RATE_MUST) }];
    }),
};

const BULK = 20_000;
/** schedctl's timeout. */
const BULK_MS_MAX = 10_000;

export const bulkSchedule: Case = {
  id: "j.schedule",
  what: `${BULK.toLocaleString("en-US")} tasks in one Schedule, no worker`,
  run: (bench) =>
    open(bench, 0, async ({ scheduler, server }) => {
      const tasks = trueTasks(bench.count(BULK));
      const stop = startMeter({ server: server.process.pid });
      const times: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const beginMs = performance.now();
        await scheduler.schedule({ tasks });
        times.push(performance.now() - beginMs);
      }
      const cpuMsPerTask = stop(tasks.length * ROUNDS);
      bench.worked(tasks.length * ROUNDS);
      const beginMs = performance.now();
      const listed = await scheduler.getTaskList({ id: "dummy" });
      const listMs = performance.now() - beginMs;
      const value = median(times);
      return [
        { name: "Schedule", value, unit: "ms", must: atMost(BULK_MS_MAX), cpuMsPerTask },
        { name: "GetTaskList", value: listMs, unit: "ms", note: `${listed.tasks.length} tasks` },
      ];
    }),
};

const LISTED = 26_000;
const LISTS = 5;
const LIST_CPU_MS_MAX = 500;

/** The agent reports no output, so the first list requests some, in vain; the others do not. */
export const longList: Case = {
  id: "j.list",
  what: `GetTaskList of ${LISTED.toLocaleString("en-US")} ended tasks`,
  run: (bench) =>
    open(bench, 0, async ({ scheduler, server, site }) => {
      const options: InstantAgentOptions = { server: server.grpc, sessions: 1, cpus: 1_000 };
      await site.startScript("instant-agent.ts", options).prints(/connected/);
      const tasks = bench.count(LISTED);
      for (let left = tasks; left > 0; left -= BULK) {
        await scheduler.schedule({ tasks: trueTasks(Math.min(left, BULK)) });
      }
      const areDone = async (): Promise<boolean> =>
        Number((await server.client.countJobs({})).tasks?.succeeded) === tasks;
      await waitUntil("the tasks", areDone, { everyMs: POLL_MS, timeoutMs: 300_000 });
      await sleep(SETTLE_MS);
      const times: number[] = [];
      const cpu: number[] = [];
      for (let round = 0; round < LISTS; round++) {
        const stop = startMeter({ server: server.process.pid });
        const beginMs = performance.now();
        const listed = await scheduler.getTaskList({ id: "dummy" });
        times.push(performance.now() - beginMs);
        if (listed.tasks.length !== tasks) throw new Error(`${listed.tasks.length} tasks listed`);
        cpu.push(Object.values(stop(1)).reduce((sum, each) => sum + each, 0));
      }
      bench.worked(tasks * LISTS);
      const note = `${cpu.map(Math.round).join(", ")} ms`;
      return [
        {
          name: "CPU of the server",
          value: median(cpu),
          unit: "ms",
          must: atMost(LIST_CPU_MS_MAX),
          note,
        },
        {
          name: "GetTaskList",
          value: median(times),
          unit: "ms",
          note: times.map(Math.round).join(", "),
        },
      ];
    }),
};

const SINGLES = 200;
const IDLE_MS = 20; // between tasks, so that each one finds an idle system

export const oneTask: Case = {
  id: "j.latency",
  what: `from Schedule to done, idle, ${SINGLES} tasks one at a time on one worker`,
  run: (bench) =>
    open(bench, 1, async (world) => {
      const tasks = Math.max(bench.count(SINGLES), 100); // fewer have no 99th percentile
      const times: number[] = [];
      for (let at = 0; at < tasks; at++) {
        await sleep(IDLE_MS);
        times.push(await runOne(world));
      }
      bench.worked(tasks);
      return [
        { name: "Schedule to done, p50", value: median(times), unit: "ms" },
        { name: "Schedule to done, p99", value: percentile(times, 0.99), unit: "ms" },
      ];
    }),
};

/** From a watch: polling would slow it down. */
async function runOne({ scheduler, server }: GoSchedule): Promise<number> {
  const watch = server.client.watch({ tasks: true });
  const first = await watch.next(); // from here on it has all events
  if (first.value?.event.case !== "sync") throw new Error("a watch begins with a sync");
  const beginMs = performance.now();
  const { tasks } = await scheduler.schedule({ tasks: [{ cmd: "true" }] });
  const id = tasks[0]?.id;
  for await (const { event } of watch) {
    if (event.case !== "task" || event.value.id !== id) continue;
    if (isEnded(event.value.state)) return performance.now() - beginMs;
  }
  throw new Error(`the watch ended before task ${id}`);
}
