import { isDeepEqual } from "../../src/lib/is-deep-equal.ts";
import type { Logger } from "../../src/ports/logger.ts";
import { AgentHost } from "./agent-host.ts";
import type { CheckerName } from "./checkers.ts";
import { Clients } from "./clients.ts";
import { Disk } from "./disk.ts";
import { formatRun } from "./durable.ts";
import { FAULTS } from "./faults.ts";
import { Machine } from "./machine.ts";
import { Network } from "./network.ts";
import { Seeded } from "./random.ts";
import type { Seams } from "./seams.ts";
import { NO_SEAMS } from "./seams.ts";
import { Server } from "./server.ts";
import { Timeline } from "./timeline.ts";
import { Trace } from "./trace.ts";
import { comparable, Watcher } from "./watcher.ts";
import { Witness } from "./witness.ts";

export interface SimulationOptions {
  readonly seed: number;
  readonly seams?: Partial<Seams>;
  readonly print?: (line: string) => void;
}

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

const CHECKPOINT_MS = 5_000;
const TROUBLE_MS = 150_000;
/** Long after the longest backoff, timeout and run. */
const ALL_ENDS_WITHIN_MS = 40 * 60_000;
/** More events in one millisecond are a loop without a pause. */
const BUSY_MAX = 5_000;
/** From when nothing is in the way any more to the end of a process that is not wanted. */
const STOPS_WITHIN_MS = 60_000;

/** One world from one seed: trouble for a while, then healing, and everything must be as promised. */
export async function simulate(options: SimulationOptions): Promise<Outcome> {
  const world = new World(options);
  try {
    await world.run();
  } catch (error) {
    if (world.witness.violation === undefined) throw error;
  }
  const { witness, trace, timeline, server, seed } = world;
  const { violation } = witness;
  return {
    seed,
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

class World {
  readonly seed: number;
  readonly timeline = new Timeline();
  readonly trace: Trace;
  readonly witness: Witness;
  readonly server: Server;
  readonly #random: Seeded;
  readonly #disk: Disk;
  readonly #network: Network;
  readonly #hosts: readonly AgentHost[];
  readonly #clients: Clients;
  readonly #watchers: readonly Watcher[];
  /** Since when a process has been running that nobody wants. */
  readonly #unwantedSinceMs = new Map<string, number>();

  constructor({ seed, seams: some = {}, print }: SimulationOptions) {
    this.seed = seed;
    const random = new Seeded(seed);
    const { timeline } = this;
    const seams = { ...NO_SEAMS, ...some };
    const trace = new Trace(timeline, print);
    const witness = new Witness(trace);
    const shared = { timeline, trace, witness, seams };
    const logger = this.#logger(trace, witness);
    this.#random = random;
    this.trace = trace;
    this.witness = witness;
    this.#disk = new Disk({ ...shared, random: random.fork() });
    this.server = new Server({
      ...shared,
      disk: this.#disk,
      random: random.fork(),
      logger,
      finishedTasksMax: random.chance(0.2) ? random.int(5, 30) : 1_000_000,
      onDied: () => this.#network.serverDied(),
    });
    const accept: Server["accept"] = (peer) => this.server.accept(peer);
    this.#network = new Network({ ...shared, random: random.fork(), accept });
    this.#hosts = Array.from({ length: random.int(1, 4) }, (_none, at) => {
      const capacity = { cpu: random.int(2, 8) * 1_000, memory: random.int(4, 16) };
      const name = `m${at}`;
      const machine = new Machine({ ...shared, name, capacity, random: random.fork() });
      return new AgentHost({ ...shared, machine, network: this.#network, logger, random: random.fork() });
    });
    const nodes = this.#hosts.map(({ name }) => name);
    this.#clients = new Clients({ ...shared, server: this.server, nodes, random: random.fork() });
    this.#watchers = [1, 2].map(
      () => new Watcher({ ...shared, server: this.server, random: random.fork() }),
    );
    let [lastMs, inOneMs] = [0, 0];
    timeline.afterEach = () => {
      inOneMs = timeline.nowMs === lastMs ? inOneMs + 1 : 0;
      lastMs = timeline.nowMs;
      if (inOneMs > BUSY_MAX) witness.judge("server-stays-sound", "something spins and time stands still");
      if (witness.violation !== undefined) throw witness.violation;
    };
  }

  /** What the product itself takes for a mistake of its own is one. */
  #logger(trace: Trace, witness: Witness): Logger {
    const note = (fields: Readonly<Record<string, unknown>>, text: string): void =>
      trace.line(`log: ${text} ${JSON.stringify(fields)}`);
    return {
      debug: () => undefined,
      info: note,
      warn: note,
      error: (fields, text) => {
        const { err } = fields;
        witness.judge("server-stays-sound", `${text}: ${err instanceof Error ? err.stack : ""}`);
      },
    };
  }

  async run(): Promise<void> {
    this.server.start();
    for (const host of this.#hosts) this.timeline.after(this.#random.int(0, 3_000), () => host.start());
    this.#checkpoint();
    this.#scheduleClients();
    this.#scheduleFaults();
    await this.timeline.pass(TROUBLE_MS);
    this.#heal();
    await this.timeline.pass(ALL_ENDS_WITHIN_MS, () => this.#isAllEnded());
    this.witness.judge("every-task-ends", this.#unfinished());
    await this.timeline.pass(2 * STOPS_WITHIN_MS);
    await this.#checkEnd();
    this.timeline.afterEach();
  }

  #scheduleClients(): void {
    const random = this.#random.fork();
    for (let count = random.int(10, 40); count > 0; count--) {
      this.timeline.after(random.int(0, TROUBLE_MS * 0.8), () => this.#clients.act());
    }
  }

  /** Each run has its own mix: some faults often, some never, so that rare pairs meet. */
  #scheduleFaults(): void {
    const { timeline, server } = this;
    const random = this.#random.fork();
    const targets = {
      timeline,
      server,
      random,
      disk: this.#disk,
      network: this.#network,
      hosts: this.#hosts,
      watchers: this.#watchers,
    };
    for (const [name, strike] of Object.entries(FAULTS)) {
      if (random.chance(0.5)) continue;
      for (let count = random.int(1, random.chance(0.2) ? 12 : 4); count > 0; count--) {
        timeline.after(random.int(500, TROUBLE_MS), () => {
          this.trace.line(`fault: ${name}`);
          strike(targets);
        });
      }
    }
  }

  /** Everything is started again and stays well; stalls and cuts end by themselves. */
  #heal(): void {
    this.trace.line("all faults are over");
    this.server.start();
    for (const host of this.#hosts) host.start();
    this.timeline.after(120_000, () => this.#clients.makeAmends());
  }

  #isAllEnded(): boolean {
    return this.server.isUp && this.timeline.elapsedMs > TROUBLE_MS + 150_000 && this.#unfinished() === undefined;
  }

  #unfinished(): string | undefined {
    const { durable } = this.witness;
    for (const job of durable.jobs.values()) {
      const left = durable.unfinished(job);
      if (left > 0) return `job ${job.id} has ${left} unfinished tasks`;
    }
    return undefined;
  }

  #checkpoint(): void {
    this.server.checkIndexes();
    this.#checkUnwanted();
    this.timeline.after(CHECKPOINT_MS, () => this.#checkpoint());
  }

  #checkUnwanted(): void {
    const { nowMs } = this.timeline;
    for (const host of this.#hosts) {
      for (const run of host.machine.running) {
        const key = `${host.name} ${formatRun(run)}`;
        if (this.witness.durable.isWanted(run, host.name)) {
          this.#unwantedSinceMs.delete(key);
          continue;
        }
        const sinceMs = this.#unwantedSinceMs.get(key) ?? nowMs;
        this.#unwantedSinceMs.set(key, sinceMs);
        if (!this.server.isUp || !host.isUp) continue;
        const wellSinceMs = Math.max(
          sinceMs,
          host.startedAtMs,
          this.server.startedAtMs,
          this.#network.troubledAtMs(host.name),
        );
        const isLate = nowMs - wellSinceMs > STOPS_WITHIN_MS;
        this.witness.judge("old-attempts-are-stopped", isLate ? `${key} still runs` : undefined);
      }
    }
  }

  async #checkEnd(): Promise<void> {
    const { witness, server, timeline } = this;
    for (const { name, machine } of this.#hosts) {
      const [run] = machine.running;
      const text = run === undefined ? undefined : `${name} ${formatRun(run)} runs at the end`;
      witness.judge("old-attempts-are-stopped", text);
    }
    witness.checkPromises();
    server.checkIndexes();
    if (server.state !== undefined) server.checkMemory(server.state);
    await this.#checkWatchers();
    const stopped = server.stop();
    await timeline.pass(10_000);
    await stopped;
  }

  async #checkWatchers(): Promise<void> {
    const { witness, server, timeline } = this;
    const operations = server.attach(() => undefined);
    if (operations === undefined) return;
    const listed = operations.listJobs({}, { pageSize: 1_000 });
    await timeline.pass(1);
    const { jobs } = await listed;
    const want = new Map(jobs.map((job) => [job.id, comparable(job)]));
    for (const watcher of this.#watchers) {
      const have = [...watcher.jobs.values()];
      const wrong = have.find((job) => !isDeepEqual(comparable(job), want.get(job.id)));
      const text =
        wrong === undefined
          ? `has ${have.length} jobs, not ${want.size}`
          : `has job ${wrong.id} as ${wrong.state} ${JSON.stringify(wrong.tasks)}`;
      const isSame = wrong === undefined && have.length === want.size;
      witness.judge("watched-view-agrees", isSame ? undefined : `a watcher ${text}`);
      watcher.close();
    }
  }
}
