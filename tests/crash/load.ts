import { CallError } from "../../src/client/grpc/call-error.ts";
import { AppError, describeChain } from "../../src/lib/errors.ts";
import { GRPC } from "../../src/lib/grpc/status-codes.ts";
import type { Submitted } from "./check.ts";
import { Dice } from "./dice.ts";
import { planJobs, toSubmission, type PlannedJob } from "./planned-job.ts";
import type { World } from "./world.ts";

const PAUSE_MS = 80; // between two jobs of one client
const RETRY_PAUSE_MS = 50;
const CLIENTS = 2;
const GIVE_UP_MS = 30_000; // after the last round
const UNENDED_TASKS_MAX = 400; // a longer queue would only have to be waited for

/** A request to the server; its answer is added when it arrives. */
interface Asked extends Submitted {
  readonly ids: Set<string>;
  cancelAsked: boolean;
}

/** Clients that submit and cancel small jobs, whatever happens to the server. */
export class Load {
  readonly submitted = new Map<string, Asked>();
  readonly problems: string[] = [];
  readonly #world: World;
  readonly #dice: Dice;
  #isStopping = false;
  #giveUpAtMs = Number.POSITIVE_INFINITY;
  #isFull = false;
  #count = 0;
  #work: Promise<unknown> = Promise.resolve();

  constructor(world: World, seed: number) {
    this.#world = world;
    this.#dice = new Dice(seed);
  }

  start(): void {
    const clients = Array.from({ length: CLIENTS }, () => this.#submitOn());
    this.#work = Promise.all([...clients, this.#watchQueue()]);
  }

  /** Submits nothing more; resolves when all requests under way have an answer or were given up. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    this.#giveUpAtMs = performance.now() + GIVE_UP_MS;
    await this.#work;
  }

  /** Repeats every request that may be repeated: each answer must name the existing job. */
  async repeatAll(): Promise<void> {
    const { client, directory } = this.#world;
    for (const { plan, ids } of this.submitted.values()) {
      if (ids.size === 0) continue;
      const { jobs } = await client.submitJobs({ jobs: [toSubmission(plan, directory)] });
      for (const { id, existed } of jobs) {
        ids.add(id);
        if (!existed) this.problems.push(`${plan.key} was forgotten: submitting it made job ${id}`);
      }
    }
  }

  async #submitOn(): Promise<void> {
    while (!this.#isStopping) {
      await pause(PAUSE_MS);
      if (this.#isFull) continue;
      const records = planJobs(this.#dice, this.#count++).map((plan): Asked => ({
        plan,
        ids: new Set(),
        cancelAsked: false,
      }));
      for (const record of records) this.submitted.set(record.plan.key, record);
      const asks = records[0]?.plan.isDoubled === true ? 2 : 1;
      await Promise.all(Array.from({ length: asks }, () => this.#submit(records)));
      for (const record of records) await this.#cancel(record);
    }
  }

  /** Repeats with the same keys until it is answered. */
  async #submit(records: readonly Asked[]): Promise<void> {
    const [first] = records;
    if (first === undefined) return;
    const jobs = records.map(({ plan }) => toSubmission(plan, this.#world.directory));
    const answer = await this.#call(first.plan, (client) => client.submitJobs({ jobs }));
    for (const [at, { id }] of (answer?.jobs ?? []).entries()) records[at]?.ids.add(id);
  }

  async #cancel(record: Asked): Promise<void> {
    const { plan, ids } = record;
    const [id] = ids;
    if (plan.cancel === undefined || id === undefined) return;
    await pause(plan.cancel.afterMs);
    record.cancelAsked = true;
    const target = plan.cancel.index === undefined ? id : `${id}.${plan.cancel.index}`;
    await this.#call(plan, (client) => client.cancelJob({ id: target, reason: "of the load" }));
  }

  /** undefined: given up, because that is part of the plan. */
  async #call<T>(
    plan: PlannedJob,
    ask: (client: World["client"]) => Promise<T>,
  ): Promise<T | undefined> {
    for (;;) {
      try {
        return await ask(this.#world.client);
      } catch (error) {
        if (!isAway(error)) {
          this.problems.push(`${plan.key} was refused: ${describeChain(error)}`);
          return undefined;
        }
        if (plan.isAbandoned || performance.now() > this.#giveUpAtMs) return undefined;
        await pause(RETRY_PAUSE_MS);
      }
    }
  }

  async #watchQueue(): Promise<void> {
    while (!this.#isStopping) {
      await pause(300);
      const counted = await this.#world.client.countJobs({}).catch(() => undefined);
      if (counted?.tasks === undefined) continue;
      const { pending, waiting, assigned, running } = counted.tasks;
      this.#isFull = pending + waiting + assigned + running > UNENDED_TASKS_MAX;
    }
  }
}

/** A killed server answers nothing; and the client of that process is closed with calls under way. */
export const isAway = (error: unknown): boolean =>
  error instanceof AppError &&
  (error.code === "unavailable" ||
    (error.cause instanceof CallError && error.cause.code === GRPC.CANCELLED));

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => void setTimeout(resolve, ms));
