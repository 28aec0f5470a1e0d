import { isEnded, stateName } from "../../src/client/state.ts";
import { openNative, openWheel, type Peer, type PeerRun } from "../support/hyperqueue.ts";
import { compile } from "../support/native.ts";
import { median, waitUntil } from "../support/numbers.ts";
import { atLeast, type Bench, type Case, type Measure } from "../support/part.ts";
import { startMeter } from "../support/proc.ts";
import { describeCommits, type Server, type Site } from "../support/site.ts";

const TASKS = 2_000;
const CPUS = 8;
const ROUNDS = 5;
const POLL_MS = 20; // each request costs the server something too

/** Real processes, from the submission to the job seen as succeeded. */
export const processes: Case = {
  id: "a.processes",
  what: `/bin/true x ${TASKS} as one array, ${CPUS} at a time, durable`,
  async run(bench) {
    const site = bench.openSite();
    const limit = await openLimit(site);
    const hq = await openPeers(site, bench);
    const server = await site.startServer();
    const agent = await site.startAgent(server, { cpus: CPUS });
    const tasks = bench.count(TASKS);
    const stop = startMeter({ server: server.process.pid, agent: agent.pid });
    const busbar: Peer = { name: "busbar", run: (count) => runArray(server, count) };
    const rounds = bench.isQuick ? 1 : ROUNDS;
    // In turn, so that other load of the machine slows all of them equally.
    const runs = await interleave([limit, busbar, ...hq], { tasks, rounds }, bench);
    bench.worked(tasks * rounds);
    const cpuMsPerTask = stop(tasks * rounds);
    return toMeasures(runs, { cpuMsPerTask, note: await describeCommits(server, tasks * rounds) });
  },
};

async function openLimit(site: Site): Promise<Peer> {
  const program = await compile(site, "fork-limit");
  return {
    name: "limit",
    async run(tasks) {
      const output = await site.start(program, [String(tasks), String(CPUS)]).done();
      const [seconds = 0, cpuSeconds = 0] = output.split(" ").map(Number);
      return { rate: tasks / seconds, cpu: cpuSeconds / tasks };
    },
  };
}

/** The available ones; a machine without Python or network still measures the rest. */
async function openPeers(site: Site, bench: Bench): Promise<Peer[]> {
  const native = process.env["HQ_BIN"];
  const peers = native === undefined ? [] : [openNative(site, native, CPUS)];
  try {
    peers.push(await openWheel(site, CPUS));
  } catch (error) {
    bench.progress(`HyperQueue's wheel cannot be had: ${String(error)}`);
  }
  return peers;
}

async function runArray({ client }: Server, tasks: number): Promise<PeerRun> {
  const beginMs = performance.now();
  const spec = { command: ["/bin/true"], array: `0-${tasks - 1}` };
  const { jobs } = await client.submitJobs({ jobs: [{ spec }] });
  const id = jobs[0]?.id ?? "";
  const isOver = async (): Promise<boolean> => isEnded((await client.getJob({ id })).state);
  await waitUntil("the array", isOver, { everyMs: POLL_MS, timeoutMs: 300_000 });
  const rate = (tasks * 1_000) / (performance.now() - beginMs);
  const { state } = await client.getJob({ id });
  if (stateName(state) !== "succeeded") throw new Error(`the array is ${stateName(state)}`);
  return { rate };
}

async function interleave(
  peers: readonly Peer[],
  { tasks, rounds }: { readonly tasks: number; readonly rounds: number },
  bench: Bench,
): Promise<Map<string, PeerRun[]>> {
  const runs = new Map<string, PeerRun[]>(peers.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const peer of peers) {
      const run = await peer.run(tasks);
      bench.progress(`${peer.name}: ${Math.round(run.rate)} tasks/s`);
      runs.get(peer.name)?.push(run);
    }
  }
  return runs;
}

function toMeasures(
  runs: ReadonlyMap<string, readonly PeerRun[]>,
  busbar: Pick<Measure, "cpuMsPerTask" | "note">,
): Measure[] {
  const measures: Measure[] = [];
  const rateOf = (name: string): number => median((runs.get(name) ?? []).map(({ rate }) => rate));
  for (const [name, all] of runs) {
    const cpu = all.flatMap((run) => (run.cpu === undefined ? [] : [run.cpu * 1_000]));
    const own = cpu.length > 0 ? { cpuMsPerTask: { "with its tasks": median(cpu) } } : {};
    const more = name === "busbar" ? busbar : own;
    measures.push({ name, value: rateOf(name), unit: "tasks/s", ...more });
  }
  const musts = { limit: 0.67, "HyperQueue native": 1.25 };
  for (const name of runs.keys()) {
    if (name === "busbar") continue;
    const must = Object.entries(musts).find(([peer]) => peer === name)?.[1];
    const value = rateOf("busbar") / rateOf(name);
    const budget = must === undefined ? {} : { must: atLeast(must) };
    measures.push({ name: `busbar / ${name}`, value, unit: "x", ...budget });
  }
  return measures;
}
