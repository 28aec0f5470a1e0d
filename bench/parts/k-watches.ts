import type { WatcherOptions, WatcherResult } from "../watchers.ts";
import { median, percentile, sleep } from "../support/numbers.ts";
import { atMost, type Bench, type Case, type Measure } from "../support/part.ts";
import { readCpu, readRss } from "../support/proc.ts";
import type { Server, Site } from "../support/site.ts";
import { distinctJobs, openWire, submitAll } from "../support/wire.ts";

const JOBS = 20_000;
/** On each of the two wires. */
const WATCHES = { read: 50, unread: 450 };
const GROWTH_MB_MAX = 64;
const WAIT_MS_MAX = 250;
const CPU_FACTOR_MAX = 3;
const PROBE_MS = 20;
const MIB = 1_024 * 1_024;

interface Round {
  readonly cpuMs: number;
  readonly growthMb: number;
  readonly waitsMs: readonly number[];
  readonly note: string;
}

const cpuOf = ({ process }: Server): number => {
  const { main, others } = readCpu(process.pid);
  return main + others;
};

/** A server that also serves REST, and where. */
async function startServer(site: Site): Promise<{ server: Server; http: string }> {
  const server = await site.startServer();
  const http = await server.process.prints(/REST:\s+http:\/\/(\S+:\d+)/);
  await (await fetch(`http://${http}/v1/stats`)).text(); // loads that door
  return { server, http };
}

/** One POST of all jobs. */
async function post(http: string): Promise<void> {
  const job = (_: unknown, at: number) => ({ command: ["/bin/true", `--input=part-${at}.dat`] });
  const body = JSON.stringify({ jobs: Array.from({ length: JOBS }, job) });
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`http://${http}/v1/jobs`, { method: "POST", headers, body });
  const { jobs } = (await answer.json()) as { readonly jobs?: readonly unknown[] };
  if (jobs?.length !== JOBS) throw new Error(`POST of ${JOBS} jobs: ${answer.status}`);
}

/** Submits a job again and again until `done`; how long each took. */
async function probe({ grpc }: Server, isDone: () => boolean): Promise<number[]> {
  const wire = openWire(grpc);
  const waitsMs: number[] = [];
  while (!isDone()) {
    const sentMs = performance.now();
    await wire.submit(distinctJobs(JOBS, 1));
    waitsMs.push(performance.now() - sentMs);
    await sleep(PROBE_MS);
  }
  wire.close();
  return waitsMs;
}

/** One commit of 20,000 jobs through watches. Probes are commits too, and cost watches the same again. */
async function commitThrough(
  bench: Bench,
  { watches, isProbed }: { readonly watches?: typeof WATCHES; readonly isProbed: boolean },
): Promise<Round> {
  const site = bench.openSite();
  const { server, http } = await startServer(site);
  const asked: WatcherOptions = {
    http,
    grpc: server.grpc,
    sse: watches ?? { read: 0, unread: 0 },
    calls: watches ?? { read: 0, unread: 0 },
    jobs: [],
  };
  const watchers = watches && site.startScript("watchers.ts", asked);
  await watchers?.prints(/open/);
  await sleep(1_000);
  const before = { rss: readRss(server.process.pid), cpuMs: cpuOf(server) };
  let peak = before.rss;
  const sampler = setInterval(() => (peak = Math.max(peak, readRss(server.process.pid))), 20);
  let isDone = false;
  const probing = isProbed ? probe(server, () => isDone) : [];
  await post(http);
  // The probes stop before all readers have all of it, or it would never be quiet.
  await sleep(watches === undefined ? 1_000 : 3_000);
  isDone = true;
  const waitsMs = await probing;
  const read = await watchers?.prints(/quiet (.*)/, 300_000);
  clearInterval(sampler);
  bench.worked(JOBS);
  const result = read === undefined ? undefined : (JSON.parse(read) as WatcherResult);
  const mb = ([least, most]: readonly [number, number]): string =>
    `${(least / MIB).toFixed(1)} to ${(most / MIB).toFixed(1)} MiB`;
  return {
    cpuMs: cpuOf(server) - before.cpuMs,
    growthMb: (peak - before.rss) / MIB,
    waitsMs,
    note:
      result === undefined
        ? ""
        : `each reader got ${mb(result.sse)} over SSE, ${mb(result.calls)} over gRPC`,
  };
}

export const watchedCommit: Case = {
  id: "k.watches",
  what: `1,000 watches (SSE and gRPC, ${WATCHES.unread * 2} unread) through one commit of 20,000 jobs`,
  async run(bench): Promise<readonly Measure[]> {
    const alone = await commitThrough(bench, { isProbed: false });
    const watched = await commitThrough(bench, { watches: WATCHES, isProbed: false });
    const aloneWaits = await commitThrough(bench, { isProbed: true });
    const { waitsMs } = await commitThrough(bench, { watches: WATCHES, isProbed: true });
    return [
      {
        name: "memory grows by",
        value: watched.growthMb - alone.growthMb,
        unit: "MB",
        must: atMost(GROWTH_MB_MAX),
        note: `${watched.growthMb.toFixed(0)} MB with watches, ${alone.growthMb.toFixed(0)} without`,
      },
      {
        name: "a submit waits, worst",
        value: percentile(waitsMs, 1),
        unit: "ms",
        must: atMost(WAIT_MS_MAX),
        note: `p50 ${median(waitsMs).toFixed(1)}; without watches worst ${percentile(aloneWaits.waitsMs, 1).toFixed(0)}`,
      },
      {
        name: "CPU, times that without watches",
        value: watched.cpuMs / alone.cpuMs,
        unit: "x",
        must: atMost(CPU_FACTOR_MAX),
        note: `${watched.cpuMs} and ${alone.cpuMs} ms; ${watched.note}`,
      },
    ];
  },
};

const IDLE_WATCHES = 900;
const SUBMISSIONS = 2_000;

/** CPU of the server for one submission, with watches of jobs to which nothing happens. */
async function submitBeside(bench: Bench, idle: number): Promise<number> {
  const site = bench.openSite();
  const { server, http } = await startServer(site);
  const wire = openWire(server.grpc);
  await submitAll(wire, [distinctJobs(0, IDLE_WATCHES)], { inFlight: 1, jobs: IDLE_WATCHES });
  const none = { read: 0, unread: 0 };
  const jobs = Array.from({ length: idle }, (_, at) => String(at + 1));
  const asked: WatcherOptions = { http, grpc: server.grpc, sse: none, calls: none, jobs };
  await site.startScript("watchers.ts", asked).prints(/open/);
  const count = bench.count(SUBMISSIONS);
  const requests = Array.from({ length: count }, (_, at) => distinctJobs(1_000 + at, 1));
  const before = cpuOf(server);
  await submitAll(wire, requests, { inFlight: 4, jobs: count });
  wire.close();
  bench.worked(count);
  return (cpuOf(server) - before) / count;
}

export const idleWatches: Case = {
  id: "k.watches-idle",
  what: `one submission beside ${IDLE_WATCHES} watches of idle jobs`,
  async run(bench): Promise<readonly Measure[]> {
    const alone = await submitBeside(bench, 0);
    const watched = await submitBeside(bench, IDLE_WATCHES);
    return [
      {
        name: "CPU of one submission",
        value: watched,
        unit: "ms",
        note: `${alone.toFixed(3)} ms without watches`,
      },
    ];
  },
};
