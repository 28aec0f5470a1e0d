import { isEnded } from "../../src/client/state.ts";
import { waitUntil } from "../support/numbers.ts";
import { atMost, type Bench, type Case, type Measure } from "../support/part.ts";
import { startMeter } from "../support/proc.ts";

const COUNTS = [1_000, 3_000, 5_000];
const POLL_MS = 50;
const TIMEOUT_MS = 180_000;

/** From the cancel of an array of running sleeps to its end: linear in the count. */
export const cancels: Case = {
  id: "k.cancel",
  what: `sleep 500 x ${COUNTS.join(", ")} on one agent: until all run, and until all are cancelled`,
  async run(bench) {
    const measures: Measure[] = [];
    for (const full of COUNTS) measures.push(...(await measure(bench, bench.count(full))));
    return measures;
  },
};

async function measure(bench: Bench, tasks: number): Promise<Measure[]> {
  const site = bench.openSite();
  const server = await site.startServer();
  const agent = await site.startAgent(server, { cpus: tasks });
  const { client } = server;
  const pids = { server: server.process.pid, agent: agent.pid };
  const spec = { command: ["sleep", "500"], array: `0-${tasks - 1}` };
  const ofStart = startMeter(pids);
  const beginMs = performance.now();
  const { jobs } = await client.submitJobs({ jobs: [{ spec }] });
  const id = jobs[0]?.id ?? "";
  const wait = { everyMs: POLL_MS, timeoutMs: TIMEOUT_MS };
  const isRunning = async (): Promise<boolean> =>
    Number((await client.countJobs({})).tasks?.running) === tasks;
  await waitUntil("starting them all", isRunning, wait);
  const runningMs = performance.now();
  const startCpu = ofStart(tasks);
  const ofCancel = startMeter(pids);
  const cancelMs = performance.now();
  await client.cancelJob({ id });
  const isOver = async (): Promise<boolean> => isEnded((await client.getJob({ id })).state);
  await waitUntil("cancelling them all", isOver, wait);
  const seconds = (performance.now() - cancelMs) / 1_000;
  const cancelCpu = ofCancel(tasks);
  bench.worked(tasks);
  await site.close();
  return [
    {
      name: `${tasks} running`,
      value: (runningMs - beginMs) / 1_000,
      unit: "s",
      cpuMsPerTask: startCpu,
    },
    {
      name: `${tasks} cancelled`,
      value: seconds,
      unit: "s",
      cpuMsPerTask: cancelCpu,
      ...(tasks === 5_000 ? { must: atMost(15) } : {}),
    },
  ];
}
