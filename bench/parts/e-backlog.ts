import type { InstantAgentOptions } from "../instant-agent.ts";
import { fillQueue, settle } from "../support/backlog.ts";
import { median, sleep } from "../support/numbers.ts";
import { atLeast, atMost, type Bench, type Case, type Measure } from "../support/part.ts";
import { readRss } from "../support/proc.ts";
import type { Server, Site } from "../support/site.ts";
import { distinctJobs, openWire } from "../support/wire.ts";

const SIZES = [1_000, 50_000, 1_000_000] as const;
const TASKS = 20_000;
const ROUNDS = 3;
const CPUS = 500;
const TOP_UP_MS = 5;
const MB = 1_000_000;

const rssMust: Readonly<Record<number, number>> = { 50_000: 150, 1_000_000: 600 };

/**
 * The same work with a small and a large queue behind it. One server for each size, all up at once and measured in turn, so that the
 * machine's other load falls on all of them.
 */
export const backlog: Case = {
  id: "e.backlog",
  what: `${TASKS.toLocaleString("en-US")} tasks with a queue held at each size, and its memory`,
  async run(bench) {
    const site = bench.openSite();
    const lots = await Promise.all(
      SIZES.map(async (full) => {
        const queued = bench.count(full);
        const server = await site.startServer(`data-${full}`);
        return { full, queued, server, rates: [] as number[] };
      }),
    );
    for (const { queued, server } of lots) {
      bench.progress(`queueing ${queued} jobs`);
      await fillQueue(server, queued);
    }
    await settle();
    const memory = lots.map(({ full, server }): Measure => {
      const must = rssMust[full];
      const name = `memory with ${full.toLocaleString("en-US")} single jobs queued`;
      const value = readRss(server.process.pid) / MB;
      return { name, value, unit: "MB", ...(must === undefined ? {} : { must: atMost(must) }) };
    });
    for (let round = 0; round < (bench.isQuick ? 1 : ROUNDS); round++) {
      for (const lot of lots) lot.rates.push(await workThrough(bench, site, lot));
    }
    const [base, ...others] = lots.map(({ full, rates }) => ({ full, rate: median(rates) }));
    const baseRate = base?.rate ?? 0;
    return [
      ...memory,
      { name: "rate with 1,000 queued", value: baseRate, unit: "tasks/s" },
      ...others.flatMap(({ full, rate }): Measure[] => {
        const size = full.toLocaleString("en-US");
        return [
          { name: `rate with ${size} queued`, value: rate, unit: "tasks/s" },
          { name: `of that with 1,000`, value: rate / baseRate, unit: "x", must: atLeast(0.9) },
        ];
      }),
    ];
  },
};

/** The agent's own count: from its Welcome to the last acknowledged task. */
async function workThrough(
  bench: Bench,
  site: Site,
  { queued, server }: { readonly queued: number; readonly server: Server },
): Promise<number> {
  const tasks = bench.count(TASKS);
  const options: InstantAgentOptions = { server: server.grpc, sessions: 1, cpus: CPUS, tasks };
  const agent = site.startScript("instant-agent.ts", options);
  const worked = agent.prints(/^worked (.*)$/m);
  let isOver = false;
  const result = worked.finally(() => {
    isOver = true;
  });
  await Promise.all([holdQueue(server, queued, () => isOver), result]);
  await agent.stop();
  bench.worked(tasks);
  const { tasks: done, seconds } = JSON.parse(await result) as { tasks: number; seconds: number };
  bench.progress(`${queued} queued: ${Math.round(done / seconds)} tasks/s`);
  return done / seconds;
}

/** Submits as many tasks as end: every size has the same work, and keeps its size. */
async function holdQueue(server: Server, queued: number, isOver: () => boolean): Promise<void> {
  const wire = openWire(server.grpc);
  let next = 0;
  while (!isOver()) {
    const pending = Number((await server.client.countJobs({})).tasks?.pending);
    if (pending < queued) {
      await wire.submit(distinctJobs(next, queued - pending));
      next += queued - pending;
    }
    await sleep(TOP_UP_MS);
  }
  wire.close();
}

export const arrayMemory: Case = {
  id: "e.array",
  what: "memory of an idle server with an array of 50,000 queued",
  async run(bench) {
    const server = await bench.openSite().startServer();
    await settle();
    const empty = readRss(server.process.pid) / MB;
    await server.client.submitJobs({
      jobs: [{ spec: { command: ["/bin/true"], array: `0-${bench.count(50_000) - 1}` } }],
    });
    await settle();
    const value = readRss(server.process.pid) / MB;
    return [
      { name: "memory with nothing queued", value: empty, unit: "MB" },
      { name: "memory with the array queued", value, unit: "MB", must: atMost(90) },
    ];
  },
};
