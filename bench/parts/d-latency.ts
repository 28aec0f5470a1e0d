import { existsSync, readFileSync } from "node:fs";
import { isEnded } from "../../src/client/state.ts";
import { compile } from "../support/native.ts";
import { percentile, sleep, waitUntil } from "../support/numbers.ts";
import { atMost, type Case } from "../support/part.ts";
import { startMeter } from "../support/proc.ts";
import type { Server } from "../support/site.ts";

const JOBS = 200;
const WARM_UP_JOBS = 20;
const IDLE_MS = 20; // between jobs, so that each one finds an idle system
const FILE_POLL_MS = 2;

interface Times {
  readonly answeredMs: number;
  readonly startedMs: number;
}

/** How long an idle system takes to start a submitted job. */
/** For a moment after it has joined, an agent runs programs to discover its machine: it is not idle then. */
const SETTLE_MS = 2_000;

export const latency: Case = {
  id: "d.latency",
  what: `from the submit call to the start of the process, idle, ${JOBS} jobs one at a time`,
  async run(bench) {
    const site = bench.openSite();
    const program = await compile(site, "start-time");
    const server = await site.startServer();
    const agent = await site.startAgent(server, { cpus: 2 });
    const jobs = Math.max(bench.count(JOBS), 100); // fewer have no 99th percentile
    for (let at = 0; at < WARM_UP_JOBS; at++) await runOne(server, [program, site.path(`w${at}`)]);
    await sleep(SETTLE_MS);
    const stop = startMeter({ server: server.process.pid, agent: agent.pid });
    const times: Times[] = [];
    for (let at = 0; at < jobs; at++) {
      await sleep(IDLE_MS);
      times.push(await runOne(server, [program, site.path(`t${at}`)]));
    }
    const cpuMsPerTask = stop(jobs);
    bench.worked(jobs);
    const started = times.map(({ startedMs }) => startedMs);
    const answered = times.map(({ answeredMs }) => answeredMs);
    const ms = (name: string, values: readonly number[], share: number) =>
      ({ name, value: percentile(values, share), unit: "ms" }) as const;
    return [
      { ...ms("submit to start, p50", started, 0.5), must: atMost(5), cpuMsPerTask },
      { ...ms("submit to start, p99", started, 0.99), must: atMost(15) },
      ms("submit to start, worst", started, 1),
      ms("submit to answer, p50", answered, 0.5),
    ];
  },
};

/** The process itself records its start; polling the server meanwhile would slow it down. */
async function runOne({ client }: Server, command: [string, string]): Promise<Times> {
  const begin = process.hrtime.bigint();
  const { jobs } = await client.submitJobs({ jobs: [{ spec: { command } }] });
  const answered = process.hrtime.bigint();
  const hasTold = async (): Promise<boolean> => readStart(command[1]) !== undefined;
  await waitUntil("the start of a job", hasTold, { everyMs: FILE_POLL_MS, timeoutMs: 60_000 });
  const id = jobs[0]?.id ?? "";
  await sleep(IDLE_MS);
  const isOver = async (): Promise<boolean> => isEnded((await client.getJob({ id })).state);
  await waitUntil("the end of a job", isOver, { everyMs: IDLE_MS, timeoutMs: 60_000 });
  const since = (end: bigint): number => Number(end - begin) / 1e6;
  return { answeredMs: since(answered), startedMs: since(readStart(command[1]) ?? 0n) };
}

/** undefined while the file does not exist or is incomplete. */
function readStart(file: string): bigint | undefined {
  if (!existsSync(file)) return undefined;
  const text = readFileSync(file, "utf8");
  return text.endsWith("\n") ? BigInt(text.trim()) : undefined;
}
