import type { CheckerName } from "./checkers.ts";
import { checkEnd, startCheckpoints, STOPS_WITHIN_MS, unfinished } from "./checkpoints.ts";
import { FAULTS } from "./faults.ts";
import { InstanceWatch } from "./services.ts";
import type { SimulationOptions, World } from "./world.ts";
import { createWorld } from "./world.ts";

export interface Outcome {
  readonly seed: number;
  readonly hash: string;
  readonly events: number;
  readonly executions: number;
  readonly restarts: number;
  readonly commits: number;
  readonly virtualMs: number;
  readonly failure:
    | { readonly checker: CheckerName; readonly message: string; readonly last: readonly string[] }
    | undefined;
}

const TROUBLE_MS = 150_000;
/** Stalls and cuts that began at the very end of the faults are over after this. */
const HEALED_AFTER_MS = 120_000;
const SERVICES_WATCHED_MS = 300_000;
const DRAIN_LOOK_MS = 250;
const DRAINED_MS = 5_000;
/** Long after the longest backoff, timeout and run. */
const ALL_ENDS_WITHIN_MS = 40 * 60_000;

/** One world from one seed: faults for a while, then recovery, and every promise must hold. */
export async function simulate(options: SimulationOptions): Promise<Outcome> {
  const world = createWorld(options);
  const { witness, trace, timeline, server } = world;
  try {
    await live(world);
  } catch (error) {
    if (witness.violation === undefined) throw error;
  }
  const { violation } = witness;
  return {
    seed: options.seed,
    hash: trace.hash(),
    events: timeline.events,
    executions: witness.executions.size,
    restarts: server.restarts,
    commits: witness.durable.revision,
    virtualMs: timeline.elapsedMs,
    failure:
      violation === undefined
        ? undefined
        : { checker: violation.checker, message: violation.message, last: trace.last },
  };
}

async function live(world: World): Promise<void> {
  const { server, hosts, timeline, random, witness } = world;
  server.start();
  for (const host of hosts) timeline.after(random.int(0, 3_000), () => host.start());
  startCheckpoints(world);
  scheduleClients(world);
  scheduleServices(world);
  scheduleDrains(world);
  scheduleFaults(world);
  await timeline.pass(TROUBLE_MS);
  heal(world);
  await timeline.pass(ALL_ENDS_WITHIN_MS, () => isAllEnded(world));
  witness.judge("every-task-ends", unfinished(world));
  await timeline.pass(2 * STOPS_WITHIN_MS);
  await checkEnd(world);
  timeline.afterEach();
}

function scheduleClients({ timeline, clients, receivers, habits, random: own }: World): void {
  const random = own.fork();
  for (let count = random.int(10, 40); count > 0; count--) {
    timeline.after(random.int(0, TROUBLE_MS * 0.8), () => clients.act());
  }
  for (let count = random.int(0, habits.receiptsMax); count > 0; count--) {
    timeline.after(random.int(TROUBLE_MS * 0.1, TROUBLE_MS * 0.9), () => receivers.act());
  }
}

function scheduleServices({ services, timeline, clients }: World): void {
  if (services === undefined) return;
  for (let left = services.count; left > 0; left--) {
    const atMs = services.moment(TROUBLE_MS * 0.8);
    timeline.after(atMs, () => clients.tryService(services.next()));
  }
}

/** A client drains nodes while they hold tasks, which lasts moments: random drains hardly ever hit one. */
function scheduleDrains({ timeline, clients, habits, seed }: World): void {
  if (!habits.isHasty || seed % 3 !== 1) return; // not drawn, so that other seeds stay the same
  for (let atMs = 0; atMs < TROUBLE_MS * 0.8; atMs += DRAIN_LOOK_MS) {
    timeline.after(atMs, () => clients.drainHolder(DRAINED_MS));
  }
}

/** Once all faults are over the wanted instances run; then no caller wants them any more. */
function watchServices({ services, timeline, clients, witness }: World): void {
  if (services === undefined) return;
  const watch = new InstanceWatch(witness.durable, timeline.nowMs);
  let left = SERVICES_WATCHED_MS / 1_000;
  const look = (): void => {
    watch.look();
    if (left-- > 0) {
      timeline.after(1_000, look);
      return;
    }
    witness.judge("wanted-instances-run", watch.verdict());
    for (const ask of services.removals()) clients.insistOn(ask);
  };
  look();
}

/** Each run has its own mix: some faults often, some never, so that rare pairs meet. */
function scheduleFaults(world: World): void {
  const random = world.random.fork();
  const targets = { ...world, random };
  for (const [name, strike] of Object.entries(FAULTS)) {
    if (random.chance(0.5)) continue;
    for (let count = random.int(1, random.chance(0.2) ? 12 : 4); count > 0; count--) {
      world.timeline.after(random.int(500, TROUBLE_MS), () => {
        world.trace.line(`fault: ${name}`);
        strike(targets);
      });
    }
  }
}

/** Everything is restarted and stays healthy; stalls and cuts end by themselves. */
function heal(world: World): void {
  const { trace, server, disk, hosts, timeline, clients } = world;
  trace.line("all faults are over");
  disk.onNextFlush = undefined;
  server.start();
  for (const host of hosts) {
    host.machine.onNextStart = undefined;
    host.machine.isSick = false;
    host.machine.isBroken = false;
    host.start();
  }
  timeline.after(HEALED_AFTER_MS, () => clients.makeAmends());
  timeline.after(HEALED_AFTER_MS + 30_000, () => watchServices(world));
}

/** How long services are watched before they end. */
const servicesMs = ({ services }: World): number =>
  services === undefined ? 0 : SERVICES_WATCHED_MS + 10_000;

const isAllEnded = (world: World): boolean =>
  world.server.isUp &&
  world.timeline.elapsedMs > TROUBLE_MS + HEALED_AFTER_MS + 30_000 + servicesMs(world) &&
  unfinished(world) === undefined;
