import type { TaskReportInput } from "../../src/server/operations/operations.ts";
import { AppError } from "../../src/lib/errors.ts";
import { PULLING } from "./asks.ts";
import type { Habits } from "./habits.ts";
import type { Seeded } from "./random.ts";
import type { Server } from "./server.ts";
import type { Timeline } from "./timeline.ts";
import type { Trace } from "./trace.ts";
import type { Witness } from "./witness.ts";

/** Pull clusters that accept tasks and report them, late, twice or never. */
export class Receivers {
  readonly #server: Server;
  readonly #timeline: Timeline;
  readonly #random: Seeded;
  readonly #witness: Witness;
  readonly #trace: Trace;
  readonly #habits: Habits;

  constructor(options: {
    readonly server: Server;
    readonly timeline: Timeline;
    readonly random: Seeded;
    readonly witness: Witness;
    readonly trace: Trace;
    readonly habits: Habits;
  }) {
    this.#server = options.server;
    this.#timeline = options.timeline;
    this.#random = options.random;
    this.#witness = options.witness;
    this.#trace = options.trace;
    this.#habits = options.habits;
  }

  /** One of them looks for work. A rejected or lost task belongs to no cluster. */
  act(): void {
    this.#receive().catch((error: unknown) => {
      if (!(error instanceof AppError)) throw error;
    });
  }

  async #receive(): Promise<void> {
    const random = this.#random;
    const listed = random.pick(PULLING);
    // Some name tasks that are not theirs.
    const cluster = random.chance(this.#habits.wrongNames) ? random.pick(PULLING) : listed;
    const { tasks } = await this.#server.call(
      (to) => to.listOffered(listed, random.int(1, 5)),
      ({ revision }) => this.#witness.shown("offered tasks", revision),
    );
    const ids = tasks.map(({ id }) => id).filter(() => random.chance(0.8));
    if (ids.length === 0) return;
    this.#trace.line(`${cluster}: accepts ${ids.join()}`);
    const taken: { id: string; attempt: number }[] = [];
    await this.#server.call(
      (to) => to.acceptTasks(cluster, ids),
      ({ accepted, revision }) => {
        this.#witness.shown("accepted tasks", revision);
        for (const id of accepted) taken.push({ id, attempt: this.#witness.accepted(id) });
      },
    );
    for (const { id, attempt } of taken) void this.#run(cluster, id, attempt);
  }

  async #run(cluster: string, id: string, attempt: number): Promise<void> {
    const random = this.#random;
    const state = random.pick([
      "succeeded",
      "succeeded",
      "failed",
      "returned",
      "returned",
      "silent",
    ]);
    await this.#timeline.sleep(random.int(1, 20_000));
    if (random.chance(0.7)) await this.#tell(cluster, { id, attempt, state: "running" });
    await this.#timeline.sleep(random.int(1, 20_000));
    if (state === "silent") return;
    const end: TaskReportInput = { id, attempt, state, stdout: `${id}#${attempt}` };
    await this.#tell(cluster, end);
    if (random.chance(0.4)) return;
    await this.#timeline.sleep(random.int(1, 40_000));
    // It lost its record of a report, or of a returned task.
    const late = state === "returned" ? random.pick(["succeeded", "failed"]) : state;
    await this.#tell(cluster, { ...end, state: late });
  }

  async #tell(cluster: string, report: TaskReportInput): Promise<void> {
    const { id, attempt = 0, state } = report;
    this.#trace.line(`${cluster}: ${id}#${attempt} ${state}`);
    this.#witness.told(id, attempt, state);
    for (let tries = 0; tries < 5; tries++) {
      try {
        await this.#server.call(
          (to) => to.reportTasks(cluster, [report]),
          ({ revision }) => this.#witness.shown("a report's answer", revision),
        );
        return;
      } catch (error) {
        if (error instanceof AppError && error.code !== "unavailable") return;
        await this.#timeline.sleep(this.#random.int(100, 5_000));
      }
    }
  }
}
