import type { CallerOptions, CallerResult } from "../rainbow-callers.ts";
import { atLeast, type Bench, type Case, type Measure } from "../support/part.ts";
import { startMeter } from "../support/proc.ts";
import {
  graphOf,
  type RainbowPeer,
  rainbowPeers,
  register,
  type RegisteredCluster,
  SECRET,
  SUBSYSTEM,
} from "../support/rainbow-peer.ts";
import { callPairs } from "../support/rainbow-pairs.ts";
import type { Site } from "../support/site.ts";

const SUBMISSIONS = 5_000;
const JOBS = 10_000;
const BATCH = 100;
/** How many times the rate of rainbow's own server, and that rate on a quiet machine of this kind: with RAINBOW_SERVER that of the same run counts. */
interface Aim {
  readonly times: number;
  readonly rainbow: number;
}
type Aims = Readonly<Record<1 | 16, Aim>>;
const ONE_CLUSTER: Aims = { 1: { times: 2, rainbow: 538 }, 16: { times: 8, rainbow: 375 } };
const MANY_CLUSTERS: Aims = { 1: { times: 20, rainbow: 68 }, 16: { times: 20, rainbow: 88 } };

/** A rack with 2 nodes with 4 cores, as rainbow's client makes it. */
const PAYLOAD = JSON.stringify({
  version: 1,
  resources: {
    "task-resources": {
      type: "rack",
      replicas: 1,
      with: [{ type: "node", count: 2, with: [{ type: "core", count: 4 }] }],
    },
  },
  tasks: [{ command: ["hostname"], resources: "task-resources" }],
});

/** The same in the form of a submission. */
const JOBSPEC = `version: 1
resources:
  task-resources:
    type: rack
    replicas: 1
    with:
    - type: node
      count: 2
      with:
      - type: core
        count: 4
tasks:
- command:
  - hostname
  resources: task-resources
`;

const REGISTERED = 48;
const SUBSYSTEMS = 4;

interface World {
  readonly bench: Bench;
  readonly site: Site;
  readonly peer: RainbowPeer;
  readonly clusters: readonly RegisteredCluster[];
}

async function openWorlds(
  bench: Bench,
  shape: { readonly clusters: number; readonly nodes: number },
  measure: (world: World) => Promise<readonly Measure[]>,
): Promise<readonly Measure[]> {
  const measures: Measure[] = [];
  const graph = graphOf(shape.nodes);
  for (const start of rainbowPeers) {
    const site = bench.openSite();
    const peer = await start(site);
    const clusters: RegisteredCluster[] = [];
    for (let at = 0; at < shape.clusters; at++) {
      clusters.push(await register(peer.address, `c${at}`, graph));
    }
    measures.push(...(await measure({ bench, site, peer, clusters })));
    await site.close();
  }
  return measures;
}

type Metered = CallerResult & { readonly cpuMsPerTask: Readonly<Record<string, number>> };

async function metered(
  { peer }: World,
  count: number,
  call: () => Promise<CallerResult>,
): Promise<Metered> {
  const stop = startMeter({ server: peer.pid });
  const result = await call();
  return { ...result, cpuMsPerTask: { ...stop(count), clients: result.cpuMs } };
}

const submitPairs = (world: World, connections: number, calls: number): Promise<Metered> =>
  metered(world, calls, () => {
    const { site, peer, clusters } = world;
    const requests = { payload: PAYLOAD, jobspec: JOBSPEC };
    return callPairs(site, { server: peer.address, connections, calls, clusters, ...requests });
  });

const callers = (
  world: World,
  connections: number,
  count: number,
  work: CallerOptions["work"],
): Promise<Metered> =>
  metered(world, count, async () => {
    const { site, peer, clusters } = world;
    const options: CallerOptions = { server: peer.address, connections, clusters, work };
    const child = site.startScript("rainbow-callers.ts", options);
    return JSON.parse(await child.prints(/^called (.*)$/m, 600_000)) as CallerResult;
  });

/** One connection twice: V8 compiles during the first thousands of calls. */
const CALLERS: readonly { readonly connections: 1 | 16; readonly note?: string }[] = [
  { connections: 1 },
  { connections: 16 },
  { connections: 1, note: ", a warm server" },
];

const submitting = (
  id: string,
  shape: { readonly clusters: number; readonly nodes: number },
  aims: Aims,
): Case => ({
  id,
  what: `rainbow's Satisfy + SubmitJob, ${shape.clusters} clusters of ${shape.nodes} nodes`,
  run: async (bench) => {
    const measures = await openWorlds(bench, shape, (world) => ratesOf(bench, world));
    const ofRainbow = measures.slice(CALLERS.length);
    return measures.map((measure, at) => {
      const caller = CALLERS[at];
      if (caller === undefined) return measure;
      const { times, rainbow } = aims[caller.connections];
      return { ...measure, must: atLeast(times * (ofRainbow[at]?.value ?? rainbow)) };
    });
  },
});

/** One for each of CALLERS. */
async function ratesOf(bench: Bench, world: World): Promise<readonly Measure[]> {
  const measures: Measure[] = [];
  for (const { connections, note = "" } of CALLERS) {
    const calls = bench.count(SUBMISSIONS);
    const told = await submitPairs(world, connections, calls);
    bench.worked(calls);
    measures.push({
      name: `${world.peer.name}, ${connections} connection${connections === 1 ? "" : "s"}${note}`,
      value: calls / told.seconds,
      unit: "jobs/s",
      cpuMsPerTask: told.cpuMsPerTask,
      note: `p50 ${told.p50.toFixed(2)} ms, p99 ${told.p99.toFixed(2)} ms`,
    });
  }
  return measures;
}

export const oneCluster = submitting("i.one", { clusters: 1, nodes: 4 }, ONE_CLUSTER);
export const manyClusters = submitting("i.many", { clusters: 100, nodes: 64 }, MANY_CLUSTERS);

export const handingOver: Case = {
  id: "i.receive",
  what: `rainbow's ReceiveJobs + AcceptJobs in batches of ${BATCH}, one consumer`,
  run: (bench) =>
    openWorlds(bench, { clusters: 1, nodes: 4 }, async (world) => {
      const jobs = bench.count(JOBS);
      await submitPairs(world, 16, jobs);
      const told = await callers(world, 1, jobs, { kind: "drain", jobs, batch: BATCH });
      bench.worked(jobs);
      return [
        {
          name: world.peer.name,
          value: jobs / told.seconds,
          unit: "jobs/s",
          cpuMsPerTask: told.cpuMsPerTask,
          note: `a batch: p50 ${told.p50.toFixed(1)} ms, p99 ${told.p99.toFixed(1)} ms`,
        },
      ];
    }),
};

export const registering: Case = {
  id: "i.register",
  what: `rainbow's Register and RegisterSubsystem: ${REGISTERED} clusters of 3 nodes, ${SUBSYSTEMS} subsystems each`,
  run: (bench) =>
    openWorlds(bench, { clusters: 0, nodes: 0 }, async (world) => {
      const count = bench.count(REGISTERED);
      const names = Array.from({ length: count }, (_, at) => `c${at}`);
      const clusters = names.map((name) => ({ name, token: "", secret: "" }));
      const told = await callers({ ...world, clusters }, 12, count, {
        kind: "register",
        secret: SECRET,
        graph: graphOf(3),
        subsystems: SUBSYSTEMS,
        subsystem: SUBSYSTEM,
      });
      bench.worked(count);
      return [
        {
          name: world.peer.name,
          value: told.seconds,
          unit: "s",
          cpuMsPerTask: told.cpuMsPerTask,
          note: `a call: p50 ${told.p50.toFixed(1)} ms, p99 ${told.p99.toFixed(1)} ms`,
        },
      ];
    }),
};
