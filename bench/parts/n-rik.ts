import { join } from "node:path";
import { rikPrograms } from "../../tests/conformance/support/rik.ts";
import { waitUntil } from "../support/numbers.ts";
import { atLeast, atMost, type Bench, type Case, type Measure } from "../support/part.ts";
import { startMeter } from "../support/proc.ts";
import {
  type Loading,
  LoadingController,
  loadRik,
  rikScheduler,
  startRikProgram,
} from "../support/rik-peer.ts";
import type { Server, Site } from "../support/site.ts";

const INSTANCES = 10_000;
const PACED = 5_000;
const PACED_RATE = 500;
const CALLERS = 8;
const WORKERS = 1_000;
/** rik's own scheduler stops for ever after about 2,400. */
const RIK_INSTANCES = 1_000;
/** rik's own scheduler, in memory, with a worker that answers by one stream, on another day; with RIK_SCHEDULER that of the same run counts. */
const RATE_MUST = 5_800;
/** Twice that of rik's own scheduler, which stores nothing; the same holds. */
const LATENCY_MUST_MS = 2.2;

interface World {
  readonly server: Server;
  readonly controllers: string;
  readonly controller: LoadingController;
  readonly programs: string;
  readonly site: Site;
  readonly workerPid: number;
}

async function open(
  bench: Bench,
  workers: number,
  measure: (world: World) => Promise<readonly Measure[]>,
): Promise<readonly Measure[]> {
  const site = bench.openSite();
  try {
    const programs = await rikPrograms();
    const any = "127.0.0.1:0";
    const flags = ["--rik", any, "--rik-controller", any, "--rik-rest", any];
    const server = await site.startServer("data", flags);
    const at = await server.process.prints(/rik workers:\s+(\S+:\d+)/);
    const controllers = await server.process.prints(/rik controllers:\s+(\S+:\d+)/);
    const args = ["-address", at, "-count", String(workers), "-quiet", "-one-stream"];
    const worker = startRikProgram(site, join(programs, "worker"), args);
    const areThere = async (): Promise<boolean> =>
      Number((await server.client.getStats({})).nodes["connected"] ?? 0) === workers;
    await waitUntil("connecting workers", areThere, { everyMs: 50, timeoutMs: 120_000 });
    const controller = new LoadingController(site, programs, controllers);
    const workerPid = worker.pid;
    return await measure({ server, controllers, controller, programs, site, workerPid });
  } finally {
    await site.close();
  }
}

/** One load, with the CPU time of all processes and the number of commits. */
async function measured(
  bench: Bench,
  world: World,
  request: { readonly id: string; readonly count: number; readonly rate?: number },
): Promise<{
  readonly loaded: Loading;
  readonly cpuMsPerTask: Record<string, number>;
  readonly commits: string;
}> {
  const { server, workerPid } = world;
  const { count } = request;
  const before = Number((await server.client.getStats({})).commits);
  const stop = startMeter({ server: server.process.pid });
  const ofWorkers = startMeter({ workers: workerPid });
  const loaded = await world.controller.load({ callers: CALLERS, ...request });
  const cpu = stop(count);
  const { workers = 0, "workers threads": threads = 0 } = ofWorkers(count);
  const { commits: after, commitMsMean } = await server.client.getStats({});
  bench.worked(count);
  const each = ((Number(after) - before) / count).toFixed(2);
  return {
    loaded,
    cpuMsPerTask: { ...cpu, "worker and controller": workers + threads + loaded.cpuMs / count },
    commits: `${each} commits each, ${commitMsMean.toFixed(1)} ms`,
  };
}

export const rikInstances: Case = {
  id: "n.instances",
  what: `${INSTANCES.toLocaleString("en-US")} instances by ${CALLERS} callers on one worker of rik, until the controller received RUNNING for each`,
  run: (bench) =>
    open(bench, 1, async (world) => {
      const count = bench.count(INSTANCES);
      await world.controller.load({ id: "begin", count: Math.ceil(count / 4), callers: CALLERS });
      const first = await rateOf(bench, world, "a new server");
      await world.controller.load({ id: "more", count, callers: CALLERS });
      const warm = await rateOf(bench, world, "a warm server");
      const name = `${RIK_INSTANCES.toLocaleString("en-US")} of a warm server`;
      const few = await rateOf(bench, world, name, RIK_INSTANCES);
      const all = [first, warm, few];
      if (rikScheduler === undefined) return all;
      const request = { count: RIK_INSTANCES, callers: CALLERS };
      const value = await loadRik(world, request, ({ rate }) => rate);
      const must = atLeast(value);
      const peer = { name: "rik's scheduler, 1,000", value, unit: "instances/s" };
      return [...all.map((each) => ({ ...each, must })), peer];
    }),
};

/** V8 compiles until about 25,000 instances have run. */
async function rateOf(
  bench: Bench,
  world: World,
  name: string,
  count = bench.count(INSTANCES),
): Promise<Measure> {
  const request = { id: name.replaceAll(/[ ,]/g, "-"), count };
  const { loaded, cpuMsPerTask, commits } = await measured(bench, world, request);
  const note = `ScheduleInstance p50 ${loaded.callP50.toFixed(2)} ms, ${commits}`;
  const must = atLeast(RATE_MUST);
  return { name, value: loaded.rate, unit: "instances/s", cpuMsPerTask, note, must };
}

export const rikUnread: Case = {
  id: "n.unread",
  what: `the same while ${CALLERS} callers of a controller that reads nothing request as many`,
  run: (bench) =>
    open(bench, 1, async (world) => {
      const count = bench.count(INSTANCES);
      const { site, programs, controllers } = world;
      const request = JSON.stringify({ id: "unread", count, callers: CALLERS });
      const args = ["-address", controllers, "-quiet", "-frozen", "-load", request];
      const unread = startRikProgram(site, join(programs, "controller"), args);
      await unread.prints(/"event":"(subscribed)"/);
      const { loaded, commits } = await measured(bench, world, { id: "many", count });
      const note = `RUNNING p99 ${loaded.p99.toFixed(1)} ms, ${commits}`;
      const told = loaded.told - loaded.failed;
      return [
        { name: "busbar", value: loaded.rate, unit: "instances/s", note },
        { name: "run", value: told, unit: "instances", must: atLeast(count) },
      ];
    }),
};

export const rikLatency: Case = {
  id: "n.latency",
  what: `from ScheduleInstance to RUNNING at the controller, ${PACED_RATE} instances/s, each step durable`,
  run: (bench) => open(bench, 1, (world) => paced(bench, world, "one")),
};

export const rikWide: Case = {
  id: "n.wide",
  what: `the same with ${WORKERS.toLocaleString("en-US")} workers, and the number of instances on the fullest one`,
  run: (bench) =>
    open(bench, WORKERS, async (world) => {
      const measures = await paced(bench, world, "wide");
      const counts = await instancesByWorker(world);
      const value = Math.max(...counts);
      const total = counts.reduce((sum, count) => sum + count, 0);
      const note = `${Math.min(...counts)} to ${value} of ${total} instances each`;
      const must = atMost(Math.ceil(total / WORKERS));
      return [...measures, { name: "on one worker", value, unit: "instances", must, note }];
    }),
};

async function paced(bench: Bench, world: World, id: string): Promise<readonly Measure[]> {
  const count = bench.count(PACED);
  await world.controller.load({ id: `${id}-warm`, count: 1_000, callers: CALLERS });
  const request = { id, count, rate: PACED_RATE };
  const { loaded, cpuMsPerTask, commits } = await measured(bench, world, request);
  const ofRik = { count: RIK_INSTANCES, callers: CALLERS, rate: PACED_RATE };
  const value = rikScheduler && (await loadRik(world, ofRik, ({ p50 }) => p50));
  const must = atMost(typeof value === "number" ? 2 * value : LATENCY_MUST_MS);
  return [
    { name: "p50", value: loaded.p50, unit: "ms", cpuMsPerTask, must, note: commits },
    { name: "p99", value: loaded.p99, unit: "ms" },
    ...(typeof value === "number" ? [{ name: "rik's scheduler, p50", value, unit: "ms" }] : []),
  ];
}

async function instancesByWorker({ server }: World): Promise<readonly number[]> {
  const counts: number[] = [];
  let pageToken: string | undefined;
  do {
    const page = await server.client.listNodes({ state: "connected", pageSize: 500, pageToken });
    for (const { tasks } of page.nodes) counts.push(tasks);
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
  return counts;
}
