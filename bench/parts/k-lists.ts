import { createClient, type BusbarClient } from "../../src/client/client.ts";
import { fillQueue, settle } from "../support/backlog.ts";
import { percentile } from "../support/numbers.ts";
import { atMost, type Case } from "../support/part.ts";
import { readCpu } from "../support/proc.ts";
import type { Server } from "../support/site.ts";

const JOBS = 1_000_000;
const CLIENTS = 100;
const SUBMITS = 200;
const CALL_MS_MAX = 300_000;

type Filter = NonNullable<Parameters<BusbarClient["listJobs"]>[0]["filter"]>;

/** Filters that match no job. */
const FILTERS: Readonly<Record<string, Filter>> = {
  label: { labels: { owner: "nobody" } },
  name: { name: "no-such-job" },
  node: { node: "no-such-node" },
  group: { group: "no-such-group" },
};

/** Lists whose filters match nothing, alone and beside small submits. */
export const lists: Case = {
  id: "k.lists",
  what: `${CLIENTS} clients list without a match over ${JOBS.toLocaleString("en-US")} queued jobs`,
  async run(bench) {
    const server = await bench.openSite().startServer();
    await fillQueue(server, bench.count(JOBS));
    await settle();
    const alone: { readonly name: string; readonly value: number; readonly note: string }[] = [];
    for (const [name, filter] of Object.entries(FILTERS)) {
      const before = readCpu(server.process.pid).main;
      const pages = await listToEnd(server.client, filter);
      const value = readCpu(server.process.pid).main - before;
      alone.push({ name: `CPU of one list by ${name}`, value, note: `${pages} pages` });
    }
    const idle = await submitTimes(server);
    const busy = await withListers(server, () => submitTimes(server));
    bench.worked(SUBMITS);
    return [
      ...alone.map((each) => ({ ...each, unit: "ms" })),
      { name: "submit p99, nobody lists", value: percentile(idle, 0.99), unit: "ms" },
      {
        name: `submit p99, ${CLIENTS} clients list`,
        value: percentile(busy, 0.99),
        unit: "ms",
        must: atMost(100),
      },
    ];
  },
};

async function listToEnd(client: BusbarClient, filter: Filter): Promise<number> {
  let pages = 0;
  for (let pageToken: string | undefined; ; pages++) {
    const page = await client.listJobs({ filter, pageToken });
    if (page.jobs.length > 0) throw new Error("a filter that matches nothing found a job");
    if (page.nextPageToken === undefined) return pages + 1;
    pageToken = page.nextPageToken;
  }
}

async function submitTimes({ client }: Server): Promise<readonly number[]> {
  const times: number[] = [];
  for (let at = 0; at < SUBMITS; at++) {
    const beginMs = performance.now();
    await client.submitJobs({ jobs: [{ spec: { command: ["/bin/true"] } }] });
    times.push(performance.now() - beginMs);
  }
  return times;
}

/** Each client requests one page after another, as fast as it gets them. */
async function withListers<T>({ grpc }: Server, work: () => Promise<T>): Promise<T> {
  const clients = Array.from({ length: CLIENTS }, () =>
    createClient({ server: grpc, timeoutMs: CALL_MS_MAX }),
  );
  const filters = Object.values(FILTERS);
  const until = new AbortController();
  const listing = clients.map(async (client, at) => {
    const filter = filters[at % filters.length] ?? {};
    for (let pageToken: string | undefined; !until.signal.aborted;) {
      const page = await client.listJobs({ filter, pageToken });
      pageToken = page.nextPageToken;
    }
  });
  try {
    return await work();
  } finally {
    until.abort();
    await Promise.all(listing);
    for (const client of clients) client.close();
  }
}
