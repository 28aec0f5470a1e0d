import type { NexusEdgesOptions } from "../nexus-edges.ts";
import { NexusClient } from "../support/nexus-client.ts";
import { waitUntil } from "../support/numbers.ts";
import { atLeast, type Case, type Measure } from "../support/part.ts";
import { startMeter } from "../support/proc.ts";
import type { Server, Site } from "../support/site.ts";

const LOADS = [
  { jobs: 200, edges: 10 },
  { jobs: 1_000, edges: 10 },
  { jobs: 3_000, edges: 10 },
  { jobs: 30_000, edges: 10 },
  { jobs: 1_000, edges: 1_000 },
  { jobs: 30_000, edges: 1_000 },
] as const;
/** The earlier system with instant edges and a backlog of 1,000: 59 to 94 jobs a second; 8.6 at 3,000. */
const OLD_PER_SECOND = 94;
const CONNECTIONS = 16;
const GROUP = "bench";
const SITE = "bench";

/** Edges that end each share at once, over the Kubernetes-style API; everything is durable. */
export const nexusEdges: Case = {
  id: "m.nexus",
  what: "jobs through the Kubernetes-style API with instant edges, from a backlog to the last end",
  async run(bench) {
    const measures: Measure[] = [];
    for (const { jobs: all, edges } of LOADS) {
      const jobs = bench.count(all);
      bench.progress(`${jobs} jobs on ${edges} edges`);
      measures.push(await drain(bench.openSite(), jobs, edges));
      bench.worked(jobs);
    }
    return measures;
  },
};

async function drain(site: Site, jobs: number, edges: number): Promise<Measure> {
  const server = await site.startServer("data", ["--nexus", "127.0.0.1:0"]);
  const address = await server.process.prints(/Nexus:\s+http:\/\/(\S+)/);
  const client = new NexusClient(address, CONNECTIONS);
  const isAlive = client.watchLines("JobInfo", "0", () => undefined); // by which old agents are known to live
  await client.create("Site", [SITE]);
  await client.create("SiteDC", [SITE]);
  await inTurn(edges, (at) => join(client, `edge-${at}`));
  await client.create("Jobgroup", [GROUP]);
  await inTurn(jobs, (at) => request(client, at));
  const options: NexusEdgesOptions = { server: address, connections: CONNECTIONS };
  const worker = site.startScript("nexus-edges.ts", options);
  await worker.prints(/began/);
  const stop = startMeter({ server: server.process.pid, edges: worker.pid });
  const beganMs = performance.now();
  await waitUntil("the end of all jobs", () => areDone(server, jobs), {
    everyMs: 50,
    timeoutMs: 300_000,
  });
  const perSecond = (jobs * 1_000) / (performance.now() - beganMs);
  const cpuMsPerTask = stop(jobs);
  await worker.stop();
  const note = await worker.prints(/\d+ shares.*/);
  isAlive();
  client.close();
  return {
    name: `${jobs.toLocaleString("en")} jobs, ${edges.toLocaleString("en")} edges`,
    value: perSecond,
    unit: "jobs/s",
    must: atLeast(10 * OLD_PER_SECOND),
    cpuMsPerTask,
    note,
  };
}

async function join(client: NexusClient, edge: string): Promise<void> {
  await client.create("Edge", [SITE, edge]);
  await client.create("EdgeDC", [SITE, edge]);
  const powerInfo = { totalPowerAvailable: 100, freePowerAvailable: 0 };
  await client.putStatus("Edge", client.nameOf("Edge", [SITE, edge]), { powerInfo });
}

const request = (client: NexusClient, at: number): Promise<void> =>
  client.create("Job", [GROUP, `job-${at}`], {
    spec: {
      jobId: at,
      powerNeeded: 300 + (at % 200),
      creationTime: Math.floor(Date.now() / 1_000),
    },
  });

async function areDone({ client }: Server, jobs: number): Promise<boolean> {
  const counted = await client.countJobs({});
  return (counted.jobs["succeeded"] ?? 0n) >= jobs;
}

/** All of them, as many at once as there are connections. */
async function inTurn(count: number, run: (at: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await run(next++);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
}
