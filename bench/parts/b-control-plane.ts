import type { InstantAgentOptions } from "../instant-agent.ts";
import { bulkRequests } from "../support/backlog.ts";
import { waitUntil } from "../support/numbers.ts";
import { atLeast, type Bench, type Case, type Measure } from "../support/part.ts";
import { startMeter } from "../support/proc.ts";
import { describeCommits } from "../support/site.ts";
import { encodeSubmit, openWire, submitAll } from "../support/wire.ts";

const TASKS = 100_000;
const CPUS = 1_000;
const POLL_MS = 10;
const RATE_MUST = 20_000;

/** Everything except the processes: tasks of no duration, every transition durable. */
export const arrayThrough: Case = {
  id: "b.array",
  what: `${TASKS.toLocaleString("en-US")} tasks of one array through the control plane`,
  run: (bench) => {
    const tasks = bench.count(TASKS);
    const spec = { command: ["/bin/true"], array: `0-${tasks - 1}` };
    return through(bench, { tasks, jobs: 1, requests: [encodeSubmit([{ spec }])] });
  },
};

export const jobsThrough: Case = {
  id: "b.jobs",
  what: `${TASKS.toLocaleString("en-US")} single jobs through the control plane`,
  run: (bench) => {
    const tasks = bench.count(TASKS);
    return through(bench, { tasks, jobs: tasks, requests: bulkRequests(0, tasks) });
  },
};

interface Load {
  readonly tasks: number;
  readonly jobs: number;
  readonly requests: readonly Buffer[];
}

/** From the first submission until the last end is durable, as a client sees it. */
async function through(bench: Bench, { tasks, jobs, requests }: Load): Promise<Measure[]> {
  const site = bench.openSite();
  const server = await site.startServer();
  const options: InstantAgentOptions = { server: server.grpc, sessions: 1, cpus: CPUS };
  const agent = site.startScript("instant-agent.ts", options);
  await agent.prints(/connected/);
  const wire = openWire(server.grpc);
  const stop = startMeter({ server: server.process.pid, agent: agent.pid });
  const beginMs = performance.now();
  const submitted = submitAll(wire, requests, { inFlight: 2, jobs });
  const isOver = async (): Promise<boolean> =>
    Number((await server.client.countJobs({})).tasks?.succeeded) === tasks;
  await submitted;
  const submitMs = performance.now() - beginMs;
  await waitUntil("the tasks", isOver, { everyMs: POLL_MS, timeoutMs: 600_000 });
  const tookMs = performance.now() - beginMs;
  const cpuMsPerTask = stop(tasks);
  wire.close();
  bench.worked(tasks);
  return [
    {
      name: "submit to all ended",
      value: (tasks * 1_000) / tookMs,
      unit: "tasks/s",
      must: atLeast(RATE_MUST),
      cpuMsPerTask,
      note: `submitted in ${Math.round(submitMs)} ms; ${await describeCommits(server, tasks)}`,
    },
  ];
}
