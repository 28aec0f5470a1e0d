import { settle } from "../support/backlog.ts";
import { waitUntil } from "../support/numbers.ts";
import { atMost, type Bench, type Case, type Measure } from "../support/part.ts";
import { readRss } from "../support/proc.ts";
import type { Server, Site } from "../support/site.ts";

const FIRST = 200;
const EDGES = 5_000;
const KB = 1_000;
const KB_MAX = 64;

/** Starts simulated edges as users do; returns the memory of their process, idle. */
async function startEdges(site: Site, { grpc, client }: Server, count: number): Promise<number> {
  const before = Number((await client.getStats({})).agentSessions);
  const flags = ["--server", grpc, "--data", site.path(`edges-${count}`), "--log-level", "warn"];
  const edges = ["--simulate-edges", String(count), "--site", `site-${count}`];
  const { pid } = site.startBusbar(["agent", ...flags, ...edges, "--power-schedule", "22"]);
  const areHere = async (): Promise<boolean> =>
    Number((await client.getStats({})).agentSessions) >= before + count;
  await waitUntil(`${count} edges`, areHere, { everyMs: 200, timeoutMs: 300_000 });
  await settle();
  return readRss(pid) / KB;
}

async function measure(
  bench: Bench,
  name: string,
  flags: readonly string[],
): Promise<readonly Measure[]> {
  const site = bench.openSite();
  const server = await site.startServer("data", flags);
  const rss = (): number => readRss(server.process.pid) / KB;
  // The first ones also pay one-time costs: code that is loaded, a heap that grows.
  const few = { own: await startEdges(site, server, FIRST), server: rss() };
  const count = bench.count(EDGES);
  bench.progress(`${count} edges, ${name}`);
  const many = { own: await startEdges(site, server, count), server: rss() };
  const of = (kilobytes: number): string => `${Math.round(kilobytes / KB)} MB`;
  await site.close();
  const unit = "kB";
  const must = atMost(KB_MAX);
  return [
    {
      name: `${name}: of the server, for each edge`,
      value: (many.server - few.server) / count,
      unit,
      must,
      note: `${of(few.server)} with ${FIRST}, ${of(many.server)} with ${count} more`,
    },
    {
      name: `${name}: of their process, for each edge`,
      value: (many.own - few.own) / (count - FIRST),
      unit,
      must,
      note: `${of(few.own)} for ${FIRST}, ${of(many.own)} for ${count}`,
    },
  ];
}

/** The cost of connected, idle simulated edges. */
export const edgesMemory: Case = {
  id: "m.edges",
  what: `memory for each of ${EDGES.toLocaleString("en")} simulated edges, idle`,
  run: async (bench) => [
    ...(await measure(bench, "server", [])),
    ...(await measure(bench, "server with --nexus", ["--nexus", "127.0.0.1:0"])),
  ],
};
