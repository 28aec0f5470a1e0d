import { toJobSpec } from "../../src/core/model/job/job-spec.ts";
import type { JobSpec } from "../../src/core/model/job/job.ts";
import { Core } from "../support/core.ts";
import { atLeast, type Case, type Measure } from "../support/part.ts";

const BACKLOGS = [1_000, 30_000] as const;
const EDGES = [10, 1_000] as const;
/** The decisions of the earlier system per second, with a backlog of 1,000. */
const OLD_PER_SECOND = 94;

/** 300 to 500 Ws, as its job requester requests. */
const jobs = (count: number): JobSpec[] =>
  Array.from({ length: count }, (_, at) =>
    toJobSpec({ energy: { wattSeconds: 300 + (at % 200) } }),
  );

/** Edges that end each share at once: this measures the core, splitting and placing. */
export const sharesCore: Case = {
  id: "m.core",
  what: "the core alone: jobs with energy split, placed and ended per second of CPU",
  async run(bench) {
    const measures: Measure[] = [];
    for (const edges of EDGES) {
      let base: number | undefined;
      for (const backlog of BACKLOGS) {
        bench.progress(`${backlog} jobs on ${edges} edges`);
        const { perSecond, shares } = drain(edges, bench.count(backlog));
        bench.worked(backlog);
        const floor = Math.max(10 * OLD_PER_SECOND, (base ?? 0) / 2);
        base ??= perSecond;
        measures.push({
          name: `${backlog.toLocaleString("en")} jobs, ${edges.toLocaleString("en")} edges`,
          value: perSecond,
          unit: "jobs/s CPU",
          must: atLeast(floor),
          note: `${shares} shares`,
        });
      }
    }
    return measures;
  },
};

function drain(edges: number, backlog: number): { perSecond: number; shares: number } {
  const core = new Core("spread");
  for (let at = 0; at < edges; at++) {
    const watts = [5, 10, 22, 37][at % 4] ?? 5;
    core.connect(at, { cluster: "c", cpus: 1, power: { watts, isBare: true } });
  }
  const before = process.cpuUsage();
  for (let at = 0; at < backlog; at += 1_000) core.submit(jobs(Math.min(1_000, backlog - at)));
  const running = core.place();
  let shares = running.length;
  for (let ended = running.shift(); ended !== undefined; ended = running.shift()) {
    core.end(ended);
    const placed = core.place();
    shares += placed.length;
    running.push(...placed);
  }
  const { user, system } = process.cpuUsage(before);
  return { perSecond: backlog / ((user + system) / 1e6), shares };
}
