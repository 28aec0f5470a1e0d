import type { LossTerms } from "../../src/core/model/node/node.ts";
import { LOSS_POLICIES } from "../../src/core/model/node/node.ts";
import type { Logger } from "../../src/ports/logger.ts";
import { AgentHost } from "./agent-host.ts";
import { Clients } from "./clients.ts";
import type { Habits } from "./habits.ts";
import { drawHabits } from "./habits.ts";
import { Disk } from "./disk.ts";
import { Machine } from "./machine.ts";
import { Network } from "./network.ts";
import { Receivers } from "./receivers.ts";
import { Seeded } from "./random.ts";
import type { Seams } from "./seams.ts";
import { NO_SEAMS } from "./seams.ts";
import { Server } from "./server.ts";
import { Timeline } from "./timeline.ts";
import { Trace } from "./trace.ts";
import { hasServices, ServiceClients } from "./services.ts";
import { Watcher } from "./watcher.ts";
import { Witness } from "./witness.ts";

export interface SimulationOptions {
  readonly seed: number;
  readonly seams?: Partial<Seams>;
  readonly print?: (line: string) => void;
}

/** More events in one millisecond are a loop without a pause. */
const BUSY_MAX = 5_000;

/** All parts of one simulation, built from its seed. */
export interface World {
  readonly seed: number;
  readonly timeline: Timeline;
  readonly random: Seeded;
  readonly trace: Trace;
  readonly witness: Witness;
  readonly disk: Disk;
  readonly server: Server;
  readonly network: Network;
  readonly hosts: readonly AgentHost[];
  readonly habits: Habits;
  readonly clients: Clients;
  /** In few worlds. */
  readonly services: ServiceClients | undefined;
  readonly receivers: Receivers;
  readonly watchers: readonly Watcher[];
}

export function createWorld({ seed, seams: some = {}, print }: SimulationOptions): World {
  const random = new Seeded(seed);
  const pace = new Seeded(seed + 2_000_003);
  const isHasty = pace.chance(0.5);
  const timeline = new Timeline();
  const seams = { ...NO_SEAMS, ...some };
  const trace = new Trace(timeline, print);
  const witness = new Witness(trace);
  const shared = { timeline, trace, witness, seams, logger: createLogger(trace, witness) };
  const disk = new Disk({ ...shared, random: random.fork() });
  const server: Server = new Server({
    ...shared,
    disk,
    random: random.fork(),
    finishedTasksMax: random.chance(0.4) ? random.int(3, 20) : 1_000_000,
    onUp: () => clients.serverIsUp(),
    onDied: () => network.serverDied(),
  });
  const accept: Server["accept"] = (peer) => server.accept(peer);
  const network = new Network({ ...shared, random: random.fork(), accept });
  // Drawn separately: other seeds do not depend on it.
  const edges = new Seeded(seed + 1_000_003);
  const hosts = Array.from({ length: random.int(1, 4) }, (_none, at) => {
    const capacity = { cpu: random.int(2, 8) * 1_000, memory: random.int(4, 16) };
    const machine = new Machine({
      ...shared,
      name: `m${at}`,
      capacity,
      isHasty,
      random: random.fork(),
    });
    const canHold = pace.chance(0.8);
    const loss = edges.chance(0.5) ? drawLoss(edges) : undefined;
    return new AgentHost({ ...shared, machine, network, canHold, loss, random: random.fork() });
  });
  const nodes = hosts.map(({ name }) => name);
  const own = random.fork();
  if (own.chance(0.5)) hosts.push(speakerFor("east", { ...shared, network, random: own }));
  const habits = drawHabits(random, isHasty);
  const clients = new Clients({ ...shared, server, nodes, habits, random: random.fork() });
  const receivers = new Receivers({ ...shared, server, habits, random: random.fork() });
  const watchers = [false, true, true].map(
    (isRestless) => new Watcher({ ...shared, server, random: random.fork(), isRestless }),
  );
  endAtViolation(timeline, witness);
  return {
    seed,
    timeline,
    random,
    trace,
    witness,
    disk,
    server,
    network,
    hosts,
    habits,
    clients,
    services: hasServices(seed)
      ? new ServiceClients(new Seeded(seed + 3_000_003), witness.asked)
      : undefined,
    receivers,
    watchers,
  };
}

const drawLoss = (random: Seeded): LossTerms => ({
  onLost: random.pick(LOSS_POLICIES),
  ...(random.chance(0.5) ? { lostAfterMs: random.int(5_000, 90_000) } : {}),
});

/** A machine whose agent serves a whole cluster. */
function speakerFor(
  cluster: string,
  shared: Omit<ConstructorParameters<typeof Machine>[0], "name" | "capacity"> & {
    readonly network: Network;
    readonly logger: Logger;
  },
): AgentHost {
  const { random } = shared;
  const onLost = random.pick(["requeue", "keep", "fail"] as const);
  const clusterAgent = { cluster, onLost, leaseMs: random.int(5_000, 40_000) };
  const machine = new Machine({ ...shared, name: `${cluster}-agent`, capacity: {} });
  return new AgentHost({ ...shared, machine, random: random.fork(), clusterAgent });
}

function endAtViolation(timeline: Timeline, witness: Witness): void {
  let [lastMs, inOneMs] = [0, 0];
  timeline.afterEach = () => {
    inOneMs = timeline.nowMs === lastMs ? inOneMs + 1 : 0;
    lastMs = timeline.nowMs;
    const text = inOneMs > BUSY_MAX ? "something spins and time stands still" : undefined;
    witness.judge("server-stays-sound", text);
    if (witness.violation !== undefined) throw witness.violation;
  };
}

/** An internal error of the product counts as a violation. */
function createLogger(trace: Trace, witness: Witness): Logger {
  const note = (fields: Readonly<Record<string, unknown>>, text: string): void =>
    trace.line(`log: ${text} ${JSON.stringify(fields)}`);
  return {
    debug: () => undefined,
    info: note,
    warn: note,
    error: ({ err, ...fields }, text) => {
      const where = err instanceof Error ? err.stack : JSON.stringify({ err, ...fields });
      witness.judge("server-stays-sound", `${text}: ${where}`);
    },
  };
}
