import { fillQueue } from "../support/backlog.ts";
import { median } from "../support/numbers.ts";
import { atMost, type Case } from "../support/part.ts";
import { readRss } from "../support/proc.ts";

const JOBS = 1_000_000;
const RESTARTS = 3;

/** From the restart of the process after kill -9 to its first answer. */
export const restart: Case = {
  id: "f.restart",
  what: `restart after kill -9 with ${JOBS.toLocaleString("en-US")} single jobs queued`,
  async run(bench) {
    const site = bench.openSite();
    const jobs = bench.count(JOBS);
    let server = await site.startServer();
    await fillQueue(server, jobs);
    const seconds: number[] = [];
    for (let each = 0; each < (bench.isQuick ? 1 : RESTARTS); each++) {
      server.client.close();
      await server.process.stop("SIGKILL");
      const beginMs = performance.now();
      server = await site.startServer();
      seconds.push((performance.now() - beginMs) / 1_000);
      const { tasks } = await server.client.countJobs({});
      if (Number(tasks?.pending) !== jobs) throw new Error(`${tasks?.pending} of ${jobs} are left`);
    }
    bench.worked(jobs);
    const note = `all: ${seconds.map((each) => each.toFixed(2)).join(", ")}`;
    const value = median(seconds);
    const memory = readRss(server.process.pid) / 1e6;
    return [
      { name: "start to first answer", value, unit: "s", must: atMost(5), note },
      { name: "memory after it", value: memory, unit: "MB" },
    ];
  },
};
