import type { Command } from "commander";
import type { Job, JobSubmissionInit } from "../../client/messages.ts";
import { isEnded, stateName } from "../../client/state.ts";
import { AppError, invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { notEmpty, wholeNumber } from "../flags.ts";
import { followEvents } from "../jobs/follow.ts";
import { renderStatistics } from "./render-statistics.ts";
import type { Answer, Session, Shell } from "../session.ts";
import { type GeneratedJob, statisticsOf } from "./statistics.ts";
import { dueNow, type Range, Workload } from "./workload.ts";

interface GenerateFlags {
  readonly rate: number;
  readonly count: number;
  readonly power: Range;
  readonly seed: number;
  readonly backlog: number;
  readonly group?: string;
}

const BATCH_MAX = 100;
const LOOK_MS = 50;
const ASKED_AT_ONCE = 32;
/** About a minute and a half. */
const RETRIES_MAX = 30;

export function declareGenerate(command: Command, shell: Shell): void {
  command
    .option("--rate <n/s>", "submit at most this many jobs: 5/s, 30/m", readRate, 5)
    .option(
      "--count <n>",
      "submit this many in all",
      wholeNumber("--count", { min: 1, max: 1_000_000 }),
      200,
    )
    .option(
      "--power <from-to>",
      "draw the energy of each from this range, in watt-seconds",
      readRange,
      { from: 300, to: 500 },
    )
    .option(
      "--seed <n>",
      "draw the same energies again",
      wholeNumber("--seed", { min: 0, max: 2 ** 32 - 1 }),
      1,
    )
    .option(
      "--backlog <n>",
      "pause while this many have not ended",
      wholeNumber("--backlog", { min: 1, max: 100_000 }),
      100,
    )
    .option("--group <name>", "submit them to this group", notEmpty("--group"))
    .addHelpText(
      "after",
      `
Submits jobs that ask for energy, waits until all have ended, and prints how it went. Ctrl-C stops submitting.

Examples:
  busbar generate --rate 5/s --count 200 --power 300-500 --seed 1 --backlog 100`,
    )
    .action((flags: GenerateFlags) =>
      shell.run(command, (session) => new Generator(session, flags).run()),
    );
}

function readRate(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\/([sm])$/.exec(text) ?? [];
  const perSecond = Number(amount ?? Number.NaN) / (unit === "m" ? 60 : 1);
  if (perSecond > 0 && perSecond <= 100_000) return perSecond;
  throw invalid("--rate", `"${text}" is not a rate; write it like 5/s or 30/m`);
}

function readRange(text: string): Range {
  const [, from, to] = /^(\d{1,15})(?:-(\d{1,15}))?$/.exec(text) ?? [];
  const range = { from: Number(from ?? Number.NaN), to: Number(to ?? from ?? Number.NaN) };
  if (range.from <= range.to && range.to <= limits.energyMax) return range;
  throw invalid("--power", `"${text}" is not a range of watt-seconds; write it like 300-500`);
}

/** Submits at a rate and follows the jobs. */
class Generator {
  readonly #session: Session;
  readonly #flags: GenerateFlags;
  readonly #workload: Workload;
  readonly #jobs = new Map<string, GeneratedJob>();
  readonly #unfinished = new Set<string>();
  readonly #over = new AbortController();
  /** The id of this run of the command. */
  readonly #key: string;
  #isInterrupted = false;

  constructor(session: Session, flags: GenerateFlags) {
    this.#session = session;
    this.#flags = flags;
    const { context } = session;
    this.#key = `generate-${context.hostname}-${context.nowMs()}-${flags.seed}`;
    this.#workload = new Workload(flags.seed, flags.power);
  }

  async run(): Promise<Answer> {
    const { context } = this.#session;
    const undo = context.onInterrupt(() => {
      if (this.#isInterrupted) this.#over.abort(); // the second time: does not wait
      this.#isInterrupted = true;
    });
    try {
      const client = await this.#session.client();
      const { revision } = await client.getStats({});
      const following = this.#follow(revision).catch((error: unknown) => {
        if (!this.#over.signal.aborted) throw error;
      });
      await Promise.race([this.#submitAll(), following]);
      this.#over.abort();
      await following;
    } finally {
      undo();
    }
    const statistics = statisticsOf([...this.#jobs.values()]);
    const isGood = (statistics.states["succeeded"] ?? 0) === this.#jobs.size;
    return {
      json: statistics,
      text: (page) => renderStatistics(statistics, page),
      exitCode: isGood ? 0 : 1,
    };
  }

  /** Resolves when all have ended, or there is nothing more to wait for. */
  async #submitAll(): Promise<void> {
    const { context } = this.#session;
    const { count, rate: ratePerSecond, backlog: backlogMax } = this.#flags;
    const startedMs = context.nowMs();
    for (;;) {
      const { made } = this.#workload;
      const isMore = made < count && !this.#isInterrupted;
      if (this.#over.signal.aborted || (!isMore && this.#unfinished.size === 0)) return;
      const unfinished = this.#unfinished.size;
      const elapsedMs = context.nowMs() - startedMs;
      const due = dueNow({ elapsedMs, ratePerSecond, made, count, unfinished, backlogMax });
      if (isMore && due > 0) await this.#submit(Math.min(due, BATCH_MAX));
      else await context.sleep(LOOK_MS, this.#over.signal);
    }
  }

  async #submit(total: number): Promise<void> {
    const { group } = this.#flags;
    const drawn = Array.from({ length: total }, () => this.#workload.next());
    const jobs = drawn.map(({ name, wattSeconds }) => ({
      idempotencyKey: `${this.#key}-${name}`,
      spec: { name, group, energy: { wattSeconds: BigInt(wattSeconds) } },
    }));
    const answer = await this.#submitSurely(jobs);
    const submittedAtMs = this.#session.context.nowMs();
    for (const [at, { id }] of answer.jobs.entries()) {
      const wattSeconds = drawn[at]?.wattSeconds ?? 0;
      const early = this.#early.get(id);
      const times = { startedAtMs: undefined, endedAtMs: undefined };
      this.#jobs.set(id, { id, wattSeconds, state: "pending", submittedAtMs, ...times });
      this.#unfinished.add(id);
      if (early !== undefined) this.#see(early);
    }
    this.#early.clear();
  }

  /** The keys prevent a second submission of jobs whose answer was lost. */
  async #submitSurely(jobs: readonly JobSubmissionInit[]) {
    const client = await this.#session.client();
    const { context } = this.#session;
    for (let failures = 0; ; failures++) {
      try {
        return await client.submitJobs({ jobs: [...jobs] });
      } catch (error) {
        const isAway = error instanceof AppError && error.code === "unavailable";
        if (!isAway || failures >= RETRIES_MAX || this.#over.signal.aborted) throw error;
        await context.sleep(
          limits.reconnectDelayMsMin * 2 ** Math.min(failures, 4),
          this.#over.signal,
        );
      }
    }
  }

  /** Events of jobs whose submission has not been answered yet; they may be ours. */
  readonly #early = new Map<string, Job>();

  async #follow(afterRevision: bigint): Promise<void> {
    const { signal } = this.#over;
    const what = { jobs: true, afterRevision };
    for await (const { event } of followEvents(this.#session, what, { signal })) {
      if (event.case === "job") this.#see(event.value);
      else if (event.case === "sync" || event.case === "ask") await this.#askAll();
    }
  }

  /** After a lost connection anything may have happened. */
  async #askAll(): Promise<void> {
    const client = await this.#session.client();
    const ids = [...this.#unfinished];
    for (let at = 0; at < ids.length; at += ASKED_AT_ONCE) {
      const some = ids.slice(at, at + ASKED_AT_ONCE);
      for (const job of await Promise.all(some.map((id) => client.getJob({ id })))) this.#see(job);
    }
  }

  #see(job: Job): void {
    const known = this.#jobs.get(job.id);
    if (known === undefined) {
      if (this.#early.size < 10 * BATCH_MAX) this.#early.set(job.id, job);
      return;
    }
    const ms = (value: bigint | undefined) => (value === undefined ? undefined : Number(value));
    this.#jobs.set(job.id, {
      ...known,
      state: stateName(job.state),
      submittedAtMs: Number(job.submittedAtMs),
      startedAtMs: ms(job.startedAtMs),
      endedAtMs: ms(job.endedAtMs),
    });
    if (isEnded(job.state)) this.#unfinished.delete(job.id);
  }
}
