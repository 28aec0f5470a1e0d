import type { WatcherOptions, WatcherResult } from "../watchers.ts";
import type { Child } from "../support/child.ts";
import { sleep } from "../support/numbers.ts";
import type { Bench, Case, Measure } from "../support/part.ts";
import { readCpu, readRss } from "../support/proc.ts";
import type { Server, Site } from "../support/site.ts";
import { cpuFactor, growthOf, type WatchedRound, worstWait } from "../support/watch-measures.ts";
import { distinctJobs, encodeSubmit, openWire, submitAll } from "../support/wire.ts";

const JOBS = 20_000;
const WATCHES = 1_000;
interface Crowd {
  readonly name: string;
  readonly read: number;
  readonly gzip?: boolean;
}
/** The watches: half over SSE, half over gRPC. Unread ones are open and read nothing. */
const CROWDS = [
  { name: "100 of 1,000 read", read: 100 },
  { name: "none of 1,000 reads", read: 0 },
  { name: "all 1,000 read, compressed", read: WATCHES, gzip: true },
  { name: "all 1,000 read", read: WATCHES },
] as const satisfies readonly Crowd[];
const GROWTH_MB_MAX = 64;
const WAIT_MS_MAX = 250;
const CPU_FACTOR_MAX = 3;
const PROBE_MS = 20;
const PROBED_MS_MIN = 4_000;
const MIB = 1_024 * 1_024;

type Probe = "command" | "commit";

interface Round extends WatchedRound {
  readonly note: string;
}

const cpuOf = ({ process }: Server): number => {
  const { main, others } = readCpu(process.pid);
  return main + others;
};

/** A server that also serves REST, and its address. */
async function startServer(site: Site): Promise<{ server: Server; http: string }> {
  const server = await site.startServer();
  const http = await server.process.prints(/REST:\s+http:\/\/(\S+:\d+)/);
  await (await fetch(`http://${http}/v1/stats`)).text(); // loads that door
  return { server, http };
}

const job = (_: unknown, at: number) => ({ command: ["/bin/true", `--input=part-${at}.dat`] });
const BODY = JSON.stringify({ jobs: Array.from({ length: JOBS }, job) });

/** One POST of all jobs. The answer is not parsed: that would delay the probes of this process. */
async function post(http: string): Promise<() => void> {
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`http://${http}/v1/jobs`, { method: "POST", headers, body: BODY });
  const bytes = await answer.arrayBuffer();
  return () => {
    const { jobs } = JSON.parse(Buffer.from(bytes).toString()) as { jobs?: readonly unknown[] };
    if (jobs?.length !== JOBS) throw new Error(`POST of ${JOBS} jobs: ${answer.status}`);
  };
}

/**
 * Submits a job repeatedly until `isDone`; returns the duration of each. As "command" it is the same job each time, by its key: it is
 * decided and answered, and changes nothing. As "commit" each is a separate commit, which all watches receive too.
 */
async function probe(
  { grpc }: Server,
  kind: Probe,
  isDone: () => boolean,
): Promise<readonly number[]> {
  const wire = openWire(grpc);
  const spec = { command: ["/bin/true"] };
  const same = encodeSubmit([{ spec, idempotencyKey: "probe" }]);
  await wire.submit(same);
  const waitsMs: number[] = [];
  while (!isDone()) {
    const sentMs = performance.now();
    await wire.submit(kind === "command" ? same : distinctJobs(JOBS, 1));
    waitsMs.push(performance.now() - sentMs);
    await sleep(PROBE_MS);
  }
  wire.close();
  return waitsMs;
}

/** One commit of 20,000 jobs through watches, with probes from before it until everything was read. */
async function commitThrough(
  bench: Bench,
  {
    read,
    probes,
    gzip = false,
  }: { readonly read: number | undefined; readonly probes: Probe; readonly gzip?: boolean },
): Promise<Round> {
  const site = bench.openSite();
  const { server, http } = await startServer(site);
  const half = { read: (read ?? 0) / 2, unread: (WATCHES - (read ?? 0)) / 2 };
  const asked: WatcherOptions = { http, grpc: server.grpc, sse: half, calls: half, jobs: [], gzip };
  const watchers = read === undefined ? undefined : site.startScript("watchers.ts", asked);
  await watchers?.prints(/open/);
  await sleep(1_000);
  const before = { rss: readRss(server.process.pid), cpuMs: cpuOf(server) };
  let peak = before.rss;
  const sampler = setInterval(() => (peak = Math.max(peak, readRss(server.process.pid))), 20);
  const endMs = performance.now() + PROBED_MS_MIN;
  let isRead = false;
  const isDone = (): boolean => isRead && performance.now() >= endMs;
  const probing = probe(server, probes, isDone);
  probing.catch(() => undefined); // when something else fails first, the server ends under it
  await sleep(10 * PROBE_MS);
  const check = await post(http);
  // Where probes are commits, readers are never quiet: the probes end first.
  if (probes === "commit") isRead = true;
  else if ((read ?? 0) > 0) await watchers?.prints(/quiet (.*)/, 120_000);
  isRead = true;
  const waitsMs = await probing;
  clearInterval(sampler);
  check();
  bench.worked(JOBS);
  return {
    cpuMs: cpuOf(server) - before.cpuMs,
    growthMb: (peak - before.rss) / MIB,
    waitsMs,
    note: (read ?? 0) === 0 ? "" : `; ${await describeRead(watchers)}`,
  };
}

async function describeRead(watchers: Child | undefined): Promise<string> {
  const { sse, calls } = JSON.parse(
    (await watchers?.prints(/quiet (.*)/, 120_000)) ?? "",
  ) as WatcherResult;
  const mb = ([least, most]: readonly [number, number]): string =>
    `${(least / MIB).toFixed(2)} to ${(most / MIB).toFixed(2)} MiB`;
  return `each reader got ${mb(sse)} over SSE, ${mb(calls)} over gRPC`;
}

const measure = (name: string, watched: Round, alone: Round): readonly Measure[] => [
  growthOf(name, watched, alone, GROWTH_MB_MAX),
  worstWait(`${name}: a command waits, worst`, watched, alone, WAIT_MS_MAX),
  cpuFactor(name, watched, alone, { timesMax: CPU_FACTOR_MAX, note: watched.note }),
];

export const watchedCommit: Case = {
  id: "k.watches",
  what: "1,000 watches, half SSE and half gRPC, through one commit of 20,000 jobs",
  async run(bench): Promise<readonly Measure[]> {
    const alone = await commitThrough(bench, { read: undefined, probes: "command" });
    const measures: Measure[] = [];
    for (const { name, ...crowd } of CROWDS) {
      bench.progress(name);
      const watched = await commitThrough(bench, { ...crowd, probes: "command" });
      measures.push(...measure(name, watched, alone));
    }
    const commits = await commitThrough(bench, { read: CROWDS[0].read, probes: "commit" });
    const aloneCommits = await commitThrough(bench, { read: undefined, probes: "commit" });
    const name = `${CROWDS[0].name}: a new job's submit waits, worst`;
    return [...measures, worstWait(name, commits, aloneCommits, WAIT_MS_MAX)];
  },
};

const IDLE_WATCHES = 900;
const SUBMISSIONS = 2_000;

/** CPU of the server for one submission, with watches of jobs without events. */
async function submitBeside(bench: Bench, idle: number): Promise<number> {
  const site = bench.openSite();
  const { server, http } = await startServer(site);
  const wire = openWire(server.grpc);
  await submitAll(wire, [distinctJobs(0, IDLE_WATCHES)], { inFlight: 1, jobs: IDLE_WATCHES });
  const none = { read: 0, unread: 0 };
  const jobs = Array.from({ length: idle }, (_, at) => String(at + 1));
  const asked: WatcherOptions = {
    http,
    grpc: server.grpc,
    sse: none,
    calls: none,
    jobs,
    gzip: false,
  };
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
