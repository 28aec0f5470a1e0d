import { join } from "node:path";
import { type Loaded, rikPrograms } from "../../tests/conformance/support/rik.ts";
import { waitUntil } from "../support/numbers.ts";
import { atLeast, atMost, type Bench, type Case, type Measure } from "../support/part.ts";
import { startMeter } from "../support/proc.ts";
import type { Server, Site } from "../support/site.ts";

const INSTANCES = 10_000;
const PACED = 5_000;
const PACED_RATE = 500;
const CALLERS = 8;
/** rik's own scheduler, in memory, with a worker that answers by one stream: 1,000 instances, before it stops. */
const RATE_MUST = 5_800;
/** Twice that of rik's own scheduler, which stores nothing. */
const LATENCY_MUST_MS = 2.2;

interface World {
  readonly server: Server;
  readonly controllers: string;
  readonly programs: string;
  readonly site: Site;
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
    site.start(join(programs, "worker"), args);
    const areThere = async (): Promise<boolean> =>
      Number((await server.client.getStats({})).nodes["connected"] ?? 0) === workers;
    await waitUntil("connecting workers", areThere, { everyMs: 50, timeoutMs: 120_000 });
    return await measure({ server, controllers, programs, site });
  } finally {
    await site.close();
  }
}

async function load({ site, programs, controllers }: World, request: object): Promise<Loaded> {
  const args = ["-address", controllers, "-quiet", "-load", JSON.stringify(request)];
  const controller = site.start(join(programs, "controller"), args);
  const line = await controller.prints(/(\{[^\n]*"event":"loaded"[^\n]*\})/, 200_000);
  await controller.stop();
  const loaded = JSON.parse(line) as Loaded;
  if (!loaded.done) throw new Error(`not all instances ran: ${line}`);
  return loaded;
}

export const rikInstances: Case = {
  id: "n.instances",
  what: `${INSTANCES.toLocaleString("en-US")} instances by ${CALLERS} callers on one worker of rik, until the controller was told that they run`,
  run: (bench) =>
    open(bench, 1, async (world) => {
      const count = bench.count(INSTANCES);
      await load(world, { id: "warm", count: Math.ceil(count / 4), callers: CALLERS });
      const stop = startMeter({ server: world.server.process.pid });
      const loaded = await load(world, { id: "many", count, callers: CALLERS });
      const cpuMsPerTask = stop(count);
      bench.worked(count);
      const note = `ScheduleInstance p50 ${loaded.callP50.toFixed(2)} ms`;
      const value = loaded.rate;
      return [
        {
          name: "busbar",
          value,
          unit: "instances/s",
          cpuMsPerTask,
          note,
          must: atLeast(RATE_MUST),
        },
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
  what: `the same with 1,000 workers`,
  run: (bench) => open(bench, 1_000, (world) => paced(bench, world, "wide")),
};

async function paced(bench: Bench, world: World, id: string): Promise<readonly Measure[]> {
  const count = bench.count(PACED);
  await load(world, { id: `${id}-warm`, count: 1_000, callers: CALLERS });
  const stop = startMeter({ server: world.server.process.pid });
  const loaded = await load(world, { id, count, callers: CALLERS, rate: PACED_RATE });
  const cpuMsPerTask = stop(count);
  bench.worked(count);
  return [
    { name: "p50", value: loaded.p50, unit: "ms", cpuMsPerTask, must: atMost(LATENCY_MUST_MS) },
    { name: "p99", value: loaded.p99, unit: "ms" },
  ];
}
