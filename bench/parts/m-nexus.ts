import { openNexusWorld } from "../support/nexus-world.ts";
import { atLeast, type Case, type Measure } from "../support/part.ts";
import { startMeter } from "../support/proc.ts";
import type { Site } from "../support/site.ts";

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
  const world = await openNexusWorld(site, { jobs, edges });
  const worker = await world.startEdges();
  const stop = startMeter({ server: world.server.process.pid, edges: worker.pid });
  const beganMs = performance.now();
  await world.areDone();
  const perSecond = (jobs * 1_000) / (performance.now() - beganMs);
  const cpuMsPerTask = stop(jobs);
  await worker.stop();
  const note = await worker.prints(/\d+ shares.*/);
  world.close();
  return {
    name: `${jobs.toLocaleString("en")} jobs, ${edges.toLocaleString("en")} edges`,
    value: perSecond,
    unit: "jobs/s",
    must: atLeast(10 * OLD_PER_SECOND),
    cpuMsPerTask,
    note,
  };
}
