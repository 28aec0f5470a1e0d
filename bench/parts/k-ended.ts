import type { InstantAgentOptions } from "../instant-agent.ts";
import { fillQueue, settle } from "../support/backlog.ts";
import { waitUntil } from "../support/numbers.ts";
import { atMost, type Bench, type Case, type Measure } from "../support/part.ts";
import { readCpu, readRss, startMeter } from "../support/proc.ts";
import type { Server, Site } from "../support/site.ts";

const TASKS = 1_000_000;
const CPUS = 2_000;
const POLL_MS = 100;
const SETTLE_ROUNDS = 4;
const MB = 1_000_000;

/** Memory of ended jobs, and how long a server takes to load them after kill -9. */
export const ended: Case = {
  id: "k.ended",
  what: `memory of ${TASKS.toLocaleString("en-US")} ended tasks, and a restart with them`,
  async run(bench) {
    const tasks = bench.count(TASKS);
    const array = await measure(bench, "an ended array", 100, async (server) => {
      const spec = { command: ["/bin/true"], array: `0-${tasks - 1}` };
      await server.client.submitJobs({ jobs: [{ spec }] });
    });
    const jobs = await measure(bench, "ended jobs", 300, (server) => fillQueue(server, tasks));
    return [...array, ...jobs];
  },
};

async function measure(
  bench: Bench,
  what: string,
  bytesMax: number,
  submit: (server: Server) => Promise<void>,
): Promise<Measure[]> {
  const tasks = bench.count(TASKS);
  const site = bench.openSite();
  let server = await site.startServer();
  await settle();
  const empty = readRss(server.process.pid);
  await submit(server);
  const cpuMsPerTask = await runAll(site, server, tasks);
  const grown = (await leastRss(server)) - empty;
  server.client.close();
  await server.process.stop("SIGKILL");
  const beginMs = performance.now();
  server = await site.startServer();
  const seconds = (performance.now() - beginMs) / 1_000;
  const { tasks: counts } = await server.client.countJobs({});
  if (Number(counts?.succeeded) !== tasks) throw new Error(`${counts?.succeeded} of ${tasks}`);
  const { main, others } = readCpu(server.process.pid);
  const read = (await leastRss(server)) - empty;
  bench.worked(tasks);
  return [
    { name: `${what}: memory`, value: grown / MB, unit: "MB", cpuMsPerTask },
    { name: `${what}: of one task`, value: grown / tasks, unit: "B", must: atMost(bytesMax) },
    { name: `${what}: of one task after a restart`, value: read / tasks, unit: "B" },
    {
      name: `${what}: start to first answer`,
      value: seconds,
      unit: "s",
      must: atMost(10),
      note: `CPU of the main thread ${main / 1_000} s, of others ${others / 1_000} s`,
    },
  ];
}

/** Garbage is collected when the server is idle, which on a busy machine is later. */
async function leastRss({ process: { pid } }: Server): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < SETTLE_ROUNDS; round++) {
    await settle();
    least = Math.min(least, readRss(pid));
  }
  return least;
}

async function runAll(site: Site, server: Server, tasks: number): Promise<Record<string, number>> {
  const options: InstantAgentOptions = { server: server.grpc, sessions: 1, cpus: CPUS };
  const stop = startMeter({ server: server.process.pid });
  const agent = site.startScript("instant-agent.ts", options);
  await agent.prints(/connected/);
  const isOver = async (): Promise<boolean> =>
    Number((await server.client.countJobs({})).tasks?.succeeded) === tasks;
  await waitUntil("the tasks", isOver, { everyMs: POLL_MS, timeoutMs: 600_000 });
  await agent.stop();
  return stop(tasks);
}
