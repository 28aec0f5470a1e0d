import type { DependencyInput } from "../../src/core/model/job/dependency.ts";
import type { Task } from "../../src/core/model/job/task.ts";
import type { JobSpecInput } from "../../src/core/model/job/job-spec.ts";
import { toJobSpec } from "../../src/core/model/job/job-spec.ts";
import { AppError } from "../../src/lib/errors.ts";
import type { Operations } from "../../src/server/operations/operations.ts";
import { drawAsk, PULLING } from "./asks.ts";
import { ClusterClients } from "./cluster-clients.ts";
import type { Habits } from "./habits.ts";
import type { Seeded } from "./random.ts";
import type { Seams } from "./seams.ts";
import type { Server } from "./server.ts";
import type { ServiceClients } from "./services.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";
import type { Witness } from "./witness.ts";

const GROUPS = ["default", "red", "blue"];

interface Request {
  readonly spec: JobSpecInput;
  readonly idempotencyKey?: string;
}

/** People and programs that use the control plane, and retry when they got no answer. */
export class Clients {
  readonly #server: Server;
  readonly #timeline: Timeline;
  readonly #random: Seeded;
  readonly #witness: Witness;
  readonly #trace: Trace;
  readonly #seams: Seams;
  readonly #nodes: readonly string[];
  readonly #habits: Habits;
  readonly #clusters: ClusterClients;
  /** Acknowledged jobs; they may have been removed since. */
  readonly #ids: string[] = [];
  #keys = 0;
  #isDraining = false;
  #names = 0;
  /** Names of submitted jobs, and the number of their tasks. */
  readonly #asked: { readonly name: string; readonly tasks: number }[] = [];

  constructor(options: {
    readonly server: Server;
    readonly timeline: Timeline;
    readonly random: Seeded;
    readonly witness: Witness;
    readonly trace: Trace;
    readonly seams: Seams;
    readonly nodes: readonly string[];
    readonly habits: Habits;
  }) {
    this.#server = options.server;
    this.#timeline = options.timeline;
    this.#random = options.random;
    this.#witness = options.witness;
    this.#trace = options.trace;
    this.#seams = options.seams;
    this.#nodes = options.nodes;
    this.#habits = options.habits;
    this.#clusters = new ClusterClients(options.random, options.witness.asked, options.nodes);
  }

  /** One action of a client. Rejections are normal; checkers judge forbidden effects. */
  act(): void {
    const random = this.#random;
    const node = random.pick(this.#nodes);
    if (random.chance(this.#habits.clusterCare)) return this.#tryWanted();
    const roll = random.fraction();
    if (roll < 0.55 || this.#ids.length === 0) void this.#submit();
    else if (roll < 0.64) void this.#cancel();
    else if (roll < 0.7) this.#changeJob();
    else if (roll < 0.77) void this.#look(random.pick(this.#ids));
    else if (roll < 0.82) this.#try(`drain ${node}`, (to) => to.drainNode(node, "repair"));
    else if (roll < 0.9) this.#try(`undrain ${node}`, (to) => to.undrainNode(node));
    else if (roll < 0.92) this.#try(`remove ${node}`, (to) => to.removeNode(node));
    else this.#changeGroup();
  }

  /** Drains a node that holds tasks, if there is one and none is drained this way, for a while. */
  drainHolder(drainedMs: number): void {
    if (this.#isDraining) return;
    const holds = ({ state }: Task): boolean =>
      state.kind === "held" && state.takeBack === undefined;
    const held = this.#witness.durable.tasks.values().find(holds)?.state;
    if (held?.kind !== "held") return;
    const node = String(held.nodeId);
    this.#isDraining = true;
    this.#try(`drain ${node}, which holds tasks`, (to) => to.drainNode(node, "repair"));
    this.#timeline.after(drainedMs, () => {
      this.#isDraining = false;
      this.#try(`undrain ${node}`, (to) => to.undrainNode(node));
    });
  }

  /** Actions of callers of services. */
  tryService({ what, ask }: ReturnType<ServiceClients["next"]>): void {
    this.#try(what, ask);
  }

  insistOn(ask: (to: Operations) => Promise<unknown>): void {
    void this.#insist(ask);
  }

  /** Undoes everything that would keep tasks from ending. */
  makeAmends(): void {
    for (const node of this.#nodes) void this.#insist((to) => to.undrainNode(node));
    for (const name of GROUPS) {
      this.#witness.keptBack.resumed(name);
      void this.#insist((to) => to.putGroup({ name, runningTasksMax: 0, paused: false }));
    }
    for (const { id } of this.#witness.durable.jobs.values()) {
      this.#witness.keptBack.released(String(id));
      void this.#insist((to) => to.releaseJob(String(id)));
    }
    for (const { ask, waits } of this.#clusters.amends()) void this.#insist(ask, waits);
    for (const { id, spec } of this.#witness.durable.jobs.values()) {
      const isElsewhere = PULLING.some((name) => name === spec.where.cluster);
      if (isElsewhere) void this.#insist((to) => to.cancelJob(String(id), "no such place"));
    }
    // A cluster that accepted it may never report again, and a cluster with an agent is not deleted.
    for (const { jobId, state } of this.#witness.durable.tasks.values()) {
      if (state.kind !== "accepted") continue;
      void this.#insist((to) => to.cancelJob(String(jobId), "never heard of again"));
    }
  }

  #tryWanted(): void {
    const { what, ask } = this.#clusters.next();
    this.#try(what, ask);
  }

  #try(what: string, ask: (to: Operations) => Promise<unknown>): void {
    this.#trace.line(`client: ${what}`);
    this.#server.call(ask, () => undefined).catch(() => undefined);
  }

  /** Repeats until there is an answer. */
  async #insist(ask: (to: Operations) => Promise<unknown>, waits = false): Promise<void> {
    for (let tries = 0; tries < 30; tries++) {
      try {
        await this.#server.call(ask, () => undefined);
        return;
      } catch (error) {
        const isMissing = error instanceof AppError && error.code === "not_found";
        const isRefused = error instanceof AppError && error.code !== "unavailable";
        if (isRefused && !(isMissing && waits)) return;
        await this.#timeline.sleep(500);
      }
    }
  }

  async #submit(): Promise<void> {
    const random = this.#random;
    const hasKeys = random.chance(0.7);
    const requests = Array.from({ length: random.chance(0.7) ? 1 : random.int(2, 6) }, () => {
      const spec = this.#spec();
      const dependsOn = random.chance(0.4) ? this.#dependencies() : [];
      this.#asked.push({ name: spec.name ?? "", tasks: tasksOf(spec) });
      return {
        spec: dependsOn.length === 0 ? spec : { ...spec, dependsOn },
        ...(hasKeys ? { idempotencyKey: `key-${++this.#keys}` } : {}),
      };
    });
    this.#trace.line(`client: submit ${JSON.stringify(requests)}`);
    const allowUnsatisfiable = random.chance(0.8);
    // Without a key no client may retry: it could be done twice.
    const triesMax = hasKeys ? 6 : 1;
    const isImpatient = hasKeys && random.chance(0.2);
    if (isImpatient) void this.#submitOnce(requests, allowUnsatisfiable).catch(() => undefined);
    for (let tries = 0; tries < triesMax; tries++) {
      try {
        await this.#submitOnce(requests, allowUnsatisfiable);
        return;
      } catch (error) {
        if (error instanceof AppError && error.code !== "unavailable") return;
        await this.#timeline.sleep(random.int(100, 5_000));
      }
    }
  }

  async #submitOnce(requests: readonly Request[], allowUnsatisfiable: boolean): Promise<void> {
    const sent = this.#seams.keysGetLost ? requests.map(({ spec }) => ({ spec })) : requests;
    await this.#server.call(
      (to) => to.submitJobs(sent, { allowUnsatisfiable }),
      ({ jobs, revision }) => {
        this.#witness.shown("an answer", revision);
        for (const [at, { id }] of jobs.entries()) {
          const request = requests[at];
          if (request === undefined) continue;
          const spec = toJobSpec(request.spec);
          this.#witness.jobAcknowledged(Number(id), spec, request.idempotencyKey);
          this.#ids.push(id);
        }
      },
    );
  }

  #spec(): JobSpecInput {
    const random = this.#random;
    const { isHasty } = this.#habits;
    const isArray = random.chance(isHasty ? 0.7 : 0.35);
    const array = isArray ? `0-${random.int(1, isHasty ? 90 : 9)}` : undefined;
    const name = `j${++this.#names}`;
    const { demand, ask } = drawAsk(random, this.#nodes, this.#habits);
    this.#witness.asked.jobs.set(name, ask);
    return {
      name,
      command: ["work", String(random.int(0, 99)), ...longArguments(this.#names)],
      group: random.pick(GROUPS),
      priority: random.int(-1, 1),
      ...demand,
      ...(array === undefined ? {} : { array }),
      ...(random.chance(0.5) ? { retries: { max: random.int(1, 3), backoffMs: 500 } } : {}),
      ...(random.chance(0.1) ? { queueDeadlineMs: random.int(1_000, 60_000) } : {}),
    };
  }

  /** Depends on the last few jobs by name, in this submission or before, or by id; some may be removed. */
  #dependencies(): DependencyInput[] {
    const random = this.#random;
    if (random.chance(0.15)) return [{ kind: "singleton", name: random.pick(["x", "y"]) }];
    const recent = this.#asked.slice(-6);
    const on = new Set<string>();
    for (let count = random.int(1, 4); count > 0 && recent.length > 0; count--) {
      const { name, tasks } = random.pick(recent);
      if (this.#ids.length > 0 && random.chance(0.2)) on.add(random.pick(this.#ids));
      else if (tasks > 1 && random.chance(0.4)) on.add(`${name}.${random.int(0, tasks - 1)}`);
      else on.add(name);
    }
    if (on.size === 0) return [];
    const kind = random.pick(["afterok", "afterok", "afterany", "afternotok", "after"]);
    const atLeast = random.chance(0.4) ? random.int(1, on.size) : undefined;
    return [{ kind, on: [...on], atLeast }];
  }

  async #cancel(): Promise<void> {
    const random = this.#random;
    const id = random.pick(this.#ids.slice(random.chance(0.5) ? -4 : 0));
    const what = random.chance(0.5) ? id : `${id}.${random.int(0, 5)}`;
    this.#trace.line(`client: cancel ${what}`);
    try {
      const told = (job: { readonly revision: number }): void =>
        this.#witness.shown("a cancelled job", job.revision);
      await this.#server.call((to) => to.cancelJob(what, ""), told);
    } catch {
      // rejected or lost: the caller may look and retry
    }
  }

  /** A reconnected client looks for its newest job. */
  serverIsUp(): void {
    const newest = this.#ids.at(-1);
    if (newest !== undefined && this.#random.chance(0.5)) void this.#look(newest);
  }

  /** Any client finds an acknowledged job. */
  async #look(id: string): Promise<void> {
    try {
      await this.#server.call(
        (to) => to.getJob(id),
        (job) => this.#witness.shown("a job", job.revision),
      );
    } catch (error) {
      const isMissing = error instanceof AppError && error.code === "not_found";
      if (!isMissing || !this.#witness.durable.jobs.has(Number(id))) return;
      this.#witness.judge("acknowledged-jobs-exist", `job ${id} is on the disk and not found`);
    }
  }

  /** Changes of jobs after their submission. */
  #changeJob(): void {
    const random = this.#random;
    const id = random.pick(this.#ids.slice(random.chance(0.7) ? -4 : 0));
    const what = random.chance(0.6) ? id : `${id}.${random.int(0, 5)}`;
    const roll = random.fraction();
    if (roll < 0.3) void this.#hold(what);
    else if (roll < 0.5) {
      this.#witness.keptBack.released(what);
      this.#try(`release ${what}`, (to) => to.releaseJob(what));
    } else if (roll < 0.75) this.#try(`requeue ${what}`, (to) => to.requeueJob(what, ""));
    else if (roll < 0.9) {
      const set = { priority: random.int(-2, 2), group: random.pick(GROUPS) };
      this.#try(`update ${id} ${JSON.stringify(set)}`, (to) => to.updateJob(id, set));
    } else void this.#pause(random.pick(GROUPS));
  }

  async #hold(id: string): Promise<void> {
    this.#trace.line(`client: hold ${id}`);
    const { keptBack } = this.#witness;
    const { releases } = keptBack;
    const told = ({ revision }: { readonly revision: number }): void => {
      this.#witness.shown("a held job", revision);
      if (keptBack.releases === releases) keptBack.held(id);
    };
    await this.#server.call((to) => to.holdJob(id, ""), told).catch(() => undefined);
  }

  async #pause(name: string): Promise<void> {
    this.#trace.line(`client: pause ${name}`);
    const { keptBack } = this.#witness;
    const { releases } = keptBack;
    const told = (): void => {
      if (keptBack.releases === releases) keptBack.paused(name);
    };
    const ask = (to: Operations) => to.putGroup({ name, paused: true });
    await this.#server.call(ask, told).catch(() => undefined);
    if (this.#random.chance(0.5)) await this.#timeline.sleep(this.#random.int(100, 20_000));
    keptBack.resumed(name);
    this.#try(`resume ${name}`, (to) => to.putGroup({ name, paused: false }));
  }

  #changeGroup(): void {
    const random = this.#random;
    const name = random.pick(GROUPS);
    const group = { name, weight: random.int(1, 5), runningTasksMax: random.int(0, 3) };
    this.#try(`group ${JSON.stringify(group)}`, (to) => to.putGroup(group));
  }
}

const tasksOf = ({ array }: JobSpecInput): number =>
  array === undefined ? 1 : Number(array.slice("0-".length)) + 1;

/** Every seventh job has a spec that goes in parts. Not drawn, so that other seeds stay the same. */
const longArguments = (job: number): string[] =>
  job % 7 === 0 ? [Array.from({ length: 2_000 }, (_, at) => (at * at * job) % 997).join(" ")] : [];
