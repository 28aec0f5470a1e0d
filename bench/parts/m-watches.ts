import type { NexusWatchersOptions, NexusWatchersResult } from "../nexus-watchers.ts";
import { HttpWire } from "../support/http-wire.ts";
import { openNexusWorld, type NexusWorld } from "../support/nexus-world.ts";
import { sleep } from "../support/numbers.ts";
import type { Bench, Case, Measure } from "../support/part.ts";
import { readCpu, readRss } from "../support/proc.ts";
import { cpuFactor, growthOf, type WatchedRound, worstWait } from "../support/watch-measures.ts";

const JOBS = 10_000;
const EDGES = 100;
const WATCHES = 1_000;
const CROWDS = [
  { name: "1,000 watches, gzip", isGzip: true },
  { name: "1,000 watches", isGzip: false },
] as const;
/** Some 50 MB of history and rendered events, and as much garbage until V8's next full collection. */
const GROWTH_MB_MAX = 128;
const WAIT_MS_MAX = 250;
const CPU_FACTOR_MAX = 3;
const PROBE_MS = 20;
const MIB = 1_024 * 1_024;

interface Round extends WatchedRound {
  readonly seconds: number;
  readonly note: string;
}

/** All jobs pass through watches of jobs, with a small request every 20 ms until everything was read. */
async function runThrough(
  bench: Bench,
  crowd: { readonly isGzip: boolean } | undefined,
): Promise<Round> {
  const site = bench.openSite();
  const jobs = bench.count(JOBS);
  const world = await openNexusWorld(site, { jobs, edges: EDGES });
  const { pid } = world.server.process;
  const asked: NexusWatchersOptions = {
    server: world.address,
    watches: crowd === undefined ? 0 : bench.count(WATCHES),
    isGzip: crowd?.isGzip ?? false,
    jobs,
  };
  const watchers = crowd && site.startScript("nexus-watchers.ts", asked);
  await watchers?.prints(/open/);
  await sleep(1_000);
  const cpuMs = (): number => readCpu(pid).main + readCpu(pid).others;
  const before = { rss: readRss(pid), cpuMs: cpuMs() };
  let peak = before.rss;
  const sampler = setInterval(() => (peak = Math.max(peak, readRss(pid))), 20);
  let isOver = false;
  const probing = probe(world, () => isOver);
  const worker = await world.startEdges();
  const beganMs = performance.now();
  await world.areDone();
  const seconds = (performance.now() - beganMs) / 1_000;
  const read = await watchers?.prints(/quiet (.*)/);
  isOver = true;
  const waitsMs = await probing;
  clearInterval(sampler);
  const round = {
    cpuMs: cpuMs() - before.cpuMs,
    growthMb: (peak - before.rss) / MIB,
    waitsMs,
    seconds,
    note: read === undefined ? "" : describeRead(read),
  };
  await worker.stop();
  world.close();
  await site.close();
  bench.worked(jobs);
  return round;
}

/** Reads one job repeatedly; returns the duration of each read. */
async function probe(world: NexusWorld, isOver: () => boolean): Promise<readonly number[]> {
  const { address, client } = world;
  const wire = new HttpWire(address, 1);
  const waitsMs: number[] = [];
  for (let at = 0; !isOver(); at++) {
    const sentMs = performance.now();
    const status = await wire.send("GET", client.path("Job", world.nameOf(at % 100)), "", "");
    if (status !== 200) throw new Error(`GET of a job: ${status}`);
    waitsMs.push(performance.now() - sentMs);
    await sleep(PROBE_MS);
  }
  wire.close();
  return waitsMs;
}

function describeRead(text: string): string {
  const { bytes, ended, cpuMs } = JSON.parse(text) as NexusWatchersResult;
  const [least, most] = bytes.map((count) => (count / MIB).toFixed(2));
  return `; each read ${least} to ${most} MiB, with ${ended} ends; readers ${Math.round(cpuMs)} ms`;
}

function measures(name: string, watched: Round, alone: Round): readonly Measure[] {
  const seconds = `${watched.seconds.toFixed(1)} and ${alone.seconds.toFixed(1)} s`;
  const note = `, ${seconds}${watched.note}`;
  return [
    growthOf(name, watched, alone, GROWTH_MB_MAX),
    worstWait(`${name}: a small request waits, worst`, watched, alone, WAIT_MS_MAX),
    cpuFactor(name, watched, alone, { timesMax: CPU_FACTOR_MAX, note }),
  ];
}

export const nexusWatches: Case = {
  id: "m.watches",
  what: `1,000 watches of jobs as kubectl opens them, while 10,000 jobs run on ${EDGES} instant edges`,
  async run(bench): Promise<readonly Measure[]> {
    const alone = await runThrough(bench, undefined);
    const all: Measure[] = [];
    for (const { name, isGzip } of CROWDS) {
      bench.progress(name);
      all.push(...measures(name, await runThrough(bench, { isGzip }), alone));
    }
    return all;
  },
};
