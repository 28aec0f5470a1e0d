import { randomBytes } from "node:crypto";
import { isEnded } from "../../src/client/state.ts";
import { Relay } from "../../src/testing/relay.ts";
import { waitUntil } from "../support/numbers.ts";
import type { Bench, Case, Measure } from "../support/part.ts";
import type { Server, Site } from "../support/site.ts";

const BYTES_PER_SECOND = 32_000; // 256 kbit/s, each way
const DELAY_MS = 50;
const WAIT = { everyMs: 50, timeoutMs: 170_000 };

interface Edge {
  readonly site: Site;
  readonly relay: Relay;
  readonly client: Server["client"];
}

/** A server and a real agent, with a thin link between them. */
async function onEdge(bench: Bench, run: (edge: Edge) => Promise<Measure[]>): Promise<Measure[]> {
  const site = bench.openSite();
  const server = await site.startServer();
  const relay = await Relay.start(server.grpc);
  try {
    await site.startAgent({ ...server, grpc: relay.address }, { cpus: 200 });
    return await run({ site, relay, client: server.client });
  } finally {
    await relay.close();
    await site.close();
  }
}

const thin = (relay: Relay): void =>
  relay.set({
    delayMs: DELAY_MS,
    upBytesPerSecond: BYTES_PER_SECOND,
    downBytesPerSecond: BYTES_PER_SECOND,
  });

async function submit({ client }: Edge, scripts: readonly string[]): Promise<string[]> {
  const jobs = scripts.map((script) => ({ spec: { script } }));
  return (await client.submitJobs({ jobs })).jobs.map(({ id }) => id);
}

/** Seconds until so many of the jobs have ended. */
async function ended({ client }: Edge, ids: readonly string[], count = ids.length) {
  const beginMs = performance.now();
  const left = new Set(ids);
  const areOver = async (): Promise<boolean> => {
    for (const id of [...left].slice(0, 5)) {
      if (isEnded((await client.getJob({ id })).state)) left.delete(id);
    }
    return ids.length - left.size >= count;
  };
  await waitUntil(`${count} jobs`, areOver, WAIT);
  return (performance.now() - beginMs) / 1_000;
}

/** Text that compresses to three quarters: the worst case of scripts. */
const aScript = (bytes: number): string =>
  `exit 0\n# ${randomBytes(Math.ceil((bytes * 3) / 4)).toString("base64")}\n`;

const seconds = (name: string, value: number, note: string): Measure => ({
  name,
  value,
  unit: "s",
  note,
});

export const thinScript: Case = {
  id: "l.link-script",
  what: "a job with a script of 920 kB over 256 kbit/s, and true behind it",
  run: (bench) =>
    onEdge(bench, async (edge) => {
      const bytes = bench.count(920_000);
      thin(edge.relay);
      const before = edge.relay.carried("down");
      const large = await submit(edge, [aScript(bytes)]);
      await waitUntil(
        "a part of it",
        async () => edge.relay.carried("down") - before > 20_000,
        WAIT,
      );
      const small = await ended(edge, await submit(edge, ["true"]));
      const all = small + (await ended(edge, large));
      const carried = edge.relay.carried("down") - before;
      const note = `${carried} bytes, ${edge.relay.dials} sessions`;
      return [seconds("true behind it ended", small, ""), seconds("it ended", all, note)];
    }),
};

export const thinJobs: Case = {
  id: "l.link-jobs",
  what: "100 jobs with scripts of 10 kB in one submission over 256 kbit/s",
  run: (bench) =>
    onEdge(bench, async (edge) => {
      const count = bench.count(100);
      thin(edge.relay);
      const before = edge.relay.carried("down");
      const ids = await submit(
        edge,
        Array.from({ length: count }, () => aScript(10_000)),
      );
      const first = await ended(edge, ids, 1);
      const all = first + (await ended(edge, ids));
      const note = `${edge.relay.carried("down") - before} bytes, ${edge.relay.dials} sessions`;
      return [seconds("the first ended", first, ""), seconds("all ended", all, note)];
    }),
};

const LOG =
  'i=0; while [ $i -lt LINES ]; do i=$((i+1)); echo "step $i of LINES: loss 0.$((i*7919%9973))"; done';

export const thinOutputs: Case = {
  id: "l.link-outputs",
  what: "three readers of outputs of 1 MB over 256 kbit/s, while true is submitted and awaited",
  run: (bench) =>
    onEdge(bench, async (edge) => {
      const lines = bench.count(25_000);
      const script = LOG.replaceAll("LINES", String(lines));
      const ids = await submit(edge, [script, script, script]);
      await ended(edge, ids);
      thin(edge.relay);
      const before = edge.relay.carried("up");
      const beginMs = performance.now();
      const readers = ids.map((taskId) => read(edge, taskId));
      await waitUntil("some output", async () => edge.relay.carried("up") - before > 20_000, WAIT);
      const beside = await ended(edge, await submit(edge, ["true"]));
      const bytes = (await Promise.all(readers)).reduce((sum, one) => sum + one, 0);
      const all = (performance.now() - beginMs) / 1_000;
      const carried = edge.relay.carried("up") - before;
      const note = `${bytes} bytes of output, ${carried} on the link, ${edge.relay.dials} sessions`;
      return [
        seconds("true beside them ended", beside, ""),
        seconds("all read", all, note),
        { name: "output for each byte on the link", value: bytes / carried, unit: "bytes" },
      ];
    }),
};

async function read({ client }: Edge, taskId: string): Promise<number> {
  let bytes = 0;
  for await (const { data } of client.readOutput({ taskId, stream: 1 })) bytes += data.length;
  return bytes;
}
