import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { State } from "../../../src/gen/busbar/v1/busbar_pb.ts";
import { eventually } from "../../../src/testing/eventually.ts";
import { type Running, Site } from "../../support/busbar.ts";
import { lastingAddress } from "../../support/lasting-address.ts";
import { builtPrograms } from "./go-programs.ts";

const sources = fileURLToPath(new URL("../rik", import.meta.url));

/** The directory with a worker and a controller like rik's, and an encoder of headers. */
export const rikPrograms = (): Promise<string> =>
  builtPrograms({ name: "rik", sources, packages: ["worker", "controller", "headers"] });

export const STATUS = {
  pending: 1,
  running: 2,
  failed: 3,
  terminated: 4,
  creating: 5,
  destroying: 6,
} as const;

/** A line that a program printed. */
export interface RikEvent {
  readonly event: string;
  readonly id?: string;
  readonly worker?: string;
  readonly action?: number;
  readonly status?: number;
  readonly metrics?: string;
  readonly code?: string;
  readonly message?: string;
  readonly by?: string;
  readonly address?: string;
  readonly definition?: string;
}

/** The number of instances and the rate. */
export interface Loaded {
  readonly done: boolean;
  readonly told: number;
  readonly failed: number;
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  readonly callP50: number;
}

/** A program that prints events. */
export class RikProgram {
  readonly running: Running;

  constructor(running: Running) {
    this.running = running;
  }

  get events(): readonly RikEvent[] {
    const lines = this.running.output.split("\n").slice(0, -1);
    return lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as RikEvent);
  }

  of(event: string, more: Partial<RikEvent> = {}): readonly RikEvent[] {
    const wanted = Object.entries(more);
    return this.events.filter(
      (one) =>
        one.event === event &&
        wanted.every(([name, value]) => one[name as keyof RikEvent] === value),
    );
  }

  /** Waits for so many events. */
  async until(event: string, more: Partial<RikEvent> = {}, count = 1): Promise<RikEvent> {
    const what = (): string => `${count} ${event} ${JSON.stringify(more)} of ${this.events.length}`;
    const found = await eventually(
      () => (this.of(event, more).length >= count ? this.of(event, more).at(-1) : undefined),
      { what, timeoutMs: 30_000 },
    );
    return found;
  }

  /** The received statuses of an instance, in order. */
  statuses(id: string): readonly (number | undefined)[] {
    return this.of("instance", { id }).map(({ status }) => status);
  }

  async told(id: string, status: number): Promise<void> {
    const what = (): string => `${id} to be ${status}, not ${this.statuses(id).join()}`;
    await eventually(() => this.statuses(id).at(-1) === status, { what, timeoutMs: 30_000 });
  }

  async ask(request: object): Promise<void> {
    const { id } = request as { readonly id?: string };
    const before = this.of("answered", id === undefined ? {} : { id }).length;
    this.write(request);
    await this.until("answered", id === undefined ? {} : { id }, before + 1);
  }

  create(id: string, more: object = {}): Promise<void> {
    return this.ask({ do: "schedule", id, workload: "w1", action: 0, ...more });
  }

  destroy(id: string): Promise<void> {
    return this.ask({ do: "schedule", id, workload: "w1", action: 1 });
  }

  /** Returns when all of them have this status, or at the timeout. */
  async load(id: string, count: number, more: object = {}): Promise<Loaded> {
    this.write({ do: "load", id, count, callers: 8, ...more });
    return (await this.until("loaded", { id })) as unknown as Loaded;
  }

  write(request: object): void {
    this.running.child.stdin?.write(`${JSON.stringify(request)}\n`);
  }
}

/** A Busbar with rik's ports, and programs like rik's. */
export class RikSite extends Site {
  workers = "";
  controllers = "";
  rest = "";
  #programs = "";
  #server: Running | undefined;
  #flags: readonly string[] = [];
  readonly #started: RikProgram[] = [];

  /** Starts it, or restarts it at the same addresses. */
  async startRik(...flags: string[]): Promise<void> {
    this.#programs = await rikPrograms();
    this.#flags = flags;
    this.workers ||= await lastingAddress();
    this.controllers ||= await lastingAddress();
    this.rest ||= await lastingAddress();
    const at = [
      "--rik",
      this.workers,
      "--rik-controller",
      this.controllers,
      "--rik-rest",
      this.rest,
    ];
    this.#server = await this.startServer(...at, ...flags);
    this.workers = await this.#server.prints(/rik workers:\s+(\S+:\d+)/);
    this.controllers = await this.#server.prints(/rik controllers:\s+(\S+:\d+)/);
    this.rest = await this.#server.prints(/rik REST:\s+http:\/\/(\S+:\d+)/);
  }

  async killServer(): Promise<void> {
    await this.#server?.end("SIGKILL");
  }

  /** Ends everything that one test started, whatever its result: no program, no node and no job is left. */
  async clear(): Promise<void> {
    const started = this.#started.splice(0);
    await Promise.all(started.map(({ running }) => running.end("SIGKILL")));
    if (this.#server?.isOver === true) await this.startRik(...this.#flags);
    await this.nodesAre(0);
    const filter = { states: [State.PENDING, State.RUNNING] };
    const left = async () => (await this.client.listJobs({ filter, pageSize: 500 })).jobs;
    for (let jobs = await left(); jobs.length > 0; jobs = await left()) {
      await Promise.all(jobs.map(({ id }) => this.client.cancelJob({ id, reason: "test" })));
    }
  }

  async worker(host: string, ...flags: string[]): Promise<RikProgram> {
    return this.workerAs("", host, ...flags);
  }

  /** With this user part in its URL: "name:token@". */
  async workerAs(user: string, host: string, ...flags: string[]): Promise<RikProgram> {
    const program = this.tryWorkerAs(user, host, ...flags);
    await program.until("registered");
    return program;
  }

  /** Does not wait until it is registered. */
  tryWorker(host: string): RikProgram {
    return this.tryWorkerAs("", host);
  }

  tryWorkerAs(user: string, host: string, ...flags: string[]): RikProgram {
    return this.#start("worker", user + this.workers, "-host", host, ...flags);
  }

  async controller(...flags: string[]): Promise<RikProgram> {
    return this.controllerAs("", ...flags);
  }

  /** With this user part in its URL: "name:token@". */
  async controllerAs(user: string, ...flags: string[]): Promise<RikProgram> {
    const program = this.tryController(user, ...flags);
    await program.until("subscribed");
    return program;
  }

  /** Does not wait until it has subscribed. */
  tryController(user: string, ...flags: string[]): RikProgram {
    return this.#start("controller", user + this.controllers, ...flags);
  }

  /** Waits until so many nodes accept instances. */
  async nodesAre(count: number): Promise<void> {
    const check = async (): Promise<boolean> => {
      const { nodes } = await this.client.getStats({});
      return Number(nodes["connected"] ?? 0) === count;
    };
    await eventually(check, { what: `${count} nodes`, timeoutMs: 30_000 });
  }

  /** The number of instances of each connected worker. */
  async instancesByWorker(): Promise<readonly number[]> {
    const counts: number[] = [];
    let pageToken: string | undefined;
    do {
      const page = await this.client.listNodes({ state: "connected", pageSize: 500, pageToken });
      for (const { tasks } of page.nodes) counts.push(tasks);
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
    return counts;
  }

  #start(name: string, address: string, ...flags: string[]): RikProgram {
    const program = join(this.#programs, name);
    const args = ["-address", address, ...flags];
    const started = new RikProgram(this.startProgram(args, { program, takesInput: true }));
    this.#started.push(started);
    return started;
  }
}
