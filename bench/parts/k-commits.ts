import type { InstantAgentOptions } from "../instant-agent.ts";
import { waitUntil } from "../support/numbers.ts";
import type { Case } from "../support/part.ts";
import { startMeter } from "../support/proc.ts";

const TASKS = 20_000;
const AGENTS = 100;
const POLL_MS = 100; // each request makes the server commit its open batch

/** Many agents report independently: the number of commits. */
export const commits: Case = {
  id: "k.commits",
  what: `${TASKS.toLocaleString("en-US")} tasks of no duration on ${AGENTS} agents with one cpu each`,
  async run(bench) {
    const site = bench.openSite();
    const server = await site.startServer();
    const options: InstantAgentOptions = { server: server.grpc, sessions: AGENTS, cpus: 1 };
    const agents = site.startScript("instant-agent.ts", options);
    await agents.prints(/connected/);
    const tasks = bench.count(TASKS);
    const before = Number((await server.client.getStats({})).commits);
    const stop = startMeter({ server: server.process.pid });
    const beginMs = performance.now();
    const spec = { command: ["/bin/true"], array: `0-${tasks - 1}` };
    await server.client.submitJobs({ jobs: [{ spec }] });
    const isOver = async (): Promise<boolean> =>
      Number((await server.client.countJobs({})).tasks?.succeeded) === tasks;
    await waitUntil("the tasks", isOver, { everyMs: POLL_MS, timeoutMs: 300_000 });
    const rate = (tasks * 1_000) / (performance.now() - beginMs);
    const cpuMsPerTask = stop(tasks);
    bench.worked(tasks);
    const { commits: after, commitMsMean } = await server.client.getStats({});
    const value = (Number(after) - before) / tasks;
    const note = `${Number(after) - before} commits of ${commitMsMean.toFixed(1)} ms`;
    return [
      { name: "commits per task", value, unit: "commits", cpuMsPerTask, note },
      { name: "submit to all ended", value: rate, unit: "tasks/s" },
    ];
  },
};
