import { limits } from "../../src/limits.ts";
import { Site } from "../support/busbar.ts";
import { runChurn } from "./churn.ts";
import { runCrowd } from "./crowd.ts";
import { Load, pause } from "./load.ts";
import { quantile, usageOf, type Minute } from "./minutes.ts";
import { sampleProcess, sampleServer, type Sample } from "./sample.ts";

const SAMPLE_EVERY_MS = 3_000;
const MINUTE_MS = 60_000;
const KEPT_TASKS = 1_000;
const JOBS_PER_CALL = 5_000;
const CHANGES_PER_JOB = 3; // submitted, assigned, ended

export interface SoakOptions {
  readonly minutes: number;
  /** Between two jobs. */
  readonly pauseMs: number;
  readonly onMinute: (minutes: readonly Minute[]) => void;
}

/** Runs a server and an agent under load for minutes, and measures their resources. */
export async function runSoak(options: SoakOptions): Promise<readonly Minute[]> {
  const site = new Site();
  const stop = new AbortController();
  const { signal } = stop;
  const minutes: Minute[] = [];
  try {
    // Nodes join and leave: their tasks are soon placed again, or the queue would wait for a minute.
    const flags = ["--node-lost-after", "5s", "--keep-ended", String(KEPT_TASKS)];
    const server = await site.startServer(...flags);
    const agent = await site.startAgent("a1", "--cpu", "4");
    await fillWhatIsKept(site);
    const load = new Load({ client: site.client, signal, pauseMs: options.pauseMs });
    const crowd = { server: site.server, http: site.http, recent: load.recent, signal };
    const work = [load.run(), runCrowd(crowd), runChurn(site, signal)];
    const failed = Promise.all(
      work.map((one) => one.catch((error: unknown) => fail(error, signal))),
    );
    const pids = { server: server.pid, agent: agent.pid };
    const measured = measure(site, load, pids, { ...options, minutesSoFar: minutes });
    await Promise.race([measured, failed]);
    stop.abort();
    await failed;
  } finally {
    stop.abort();
    await site.close();
  }
  return minutes;
}

/** Retained data is bounded. It is filled first, so that nothing may grow afterwards. */
async function fillWhatIsKept({ client }: Site): Promise<void> {
  const never = new AbortController().signal;
  const jobs = Math.max(limits.watchHistoryChangesMax / CHANGES_PER_JOB, limits.outputKeptRunsMax);
  for (let left = jobs; left > 0; left -= JOBS_PER_CALL) {
    const spec = { command: ["/bin/true"] };
    await client.submitJobs({ jobs: Array.from({ length: JOBS_PER_CALL }, () => ({ spec })) });
  }
  while (Number((await client.getStats({})).tasksEnded) < jobs) await pause(1_000, never);
  await pause(limits.finishedAgeMsMin, never);
}

/** An error before the end is a finding; afterwards it was only interrupted. */
function fail(error: unknown, signal: AbortSignal): void {
  if (!signal.aborted) throw error;
}

async function measure(
  site: Site,
  load: Load,
  pids: { readonly server: number; readonly agent: number },
  options: SoakOptions & { readonly minutesSoFar: Minute[] },
): Promise<void> {
  const never = new AbortController().signal;
  let endedBefore = 0;
  for (let number = 1; number <= options.minutes; number++) {
    const untilMs = performance.now() + MINUTE_MS;
    const server: Sample[] = [];
    const agent: Sample[] = [];
    while (performance.now() < untilMs) {
      await pause(SAMPLE_EVERY_MS, never);
      keep(server, await sampleServer(pids.server, site.http), "the server");
      keep(agent, sampleProcess(pids.agent), "the agent");
    }
    const latencies = load.takeLatencies();
    const { tasksEnded } = await site.client.getStats({});
    options.minutesSoFar.push({
      number,
      server: usageOf(server),
      agent: usageOf(agent),
      tasksEnded: Number(tasksEnded) - endedBefore,
      jobsEnded: latencies.length,
      p50Ms: quantile(latencies, 0.5),
      p99Ms: quantile(latencies, 0.99),
    });
    endedBefore = Number(tasksEnded);
    options.onMinute(options.minutesSoFar);
  }
}

function keep(samples: Sample[], sample: Sample | undefined, name: string): void {
  if (sample === undefined) throw new Error(`${name} is gone`);
  samples.push(sample);
}
