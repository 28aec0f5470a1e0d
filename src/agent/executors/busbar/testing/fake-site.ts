import { create } from "@bufbuild/protobuf";

import type { Job, JobSubmission, Task, WatchEvent } from "../../../../gen/busbar/v1/busbar_pb.ts";
import {
  JobSchema,
  State,
  SubmitJobsResponseSchema,
  TaskSchema,
  WatchEventSchema,
} from "../../../../gen/busbar/v1/busbar_pb.ts";
import { AppError } from "../../../../lib/errors.ts";
import type { SiteApi } from "../site-api.ts";

interface Told {
  readonly id: string;
  readonly submission: JobSubmission;
  state: State;
  /** For a job with energy. */
  done: number;
}

/** A Busbar below, with the calls that an executor above it makes. Tests trigger everything that it does not do by itself. */
export class FakeSite {
  readonly jobs = new Map<string, Told>();
  readonly cancelled: string[] = [];
  readonly submissions: string[][] = [];
  readonly watchedFrom: (bigint | undefined)[] = [];
  looks = 0;
  /** Rejects a submission with this error; undefined: the site accepts it. */
  refuse: (names: readonly string[]) => AppError | undefined = () => undefined;
  /** The site accepts a submission, but answers when this resolves. */
  answering: Promise<void> = Promise.resolve();
  revision = 1n;
  #emit: ((event: WatchEvent | AppError) => void) | undefined;

  readonly api = {
    server: "below",
    submitJobs: (request: { jobs: JobSubmission[] }) => this.#submit(request.jobs),
    getJob: async ({ id }: { id: string }) => this.#jobOf(id),
    getTask: async ({ id }: { id: string }) => this.#taskOf(id),
    cancelJob: async ({ id }: { id: string }) => {
      this.cancelled.push(id);
      this.tell(id, State.CANCELLED);
      return create(JobSchema, { id });
    },
    explainJob: async () => ({ summary: "1 task waits: for you", reasons: [] }),
    listJobs: async () => ({
      jobs: [...this.jobs.values()].map(({ id, submission }) =>
        create(JobSchema, { id, idempotencyKey: submission.idempotencyKey }),
      ),
    }),
    watch: ({ afterRevision }: { afterRevision?: bigint }, { signal }: { signal: AbortSignal }) =>
      this.#watch(afterRevision, signal),
  } as unknown as SiteApi;

  /** Changes its state, and sends the event to watchers. */
  tell(id: string, state: State): void {
    const job = this.jobs.get(id);
    if (job === undefined) throw new Error(`no job ${id}`);
    job.state = state;
    this.revision += 1n;
    const event = { case: "task" as const, value: this.#taskOf(id) };
    this.#emit?.(create(WatchEventSchema, { revision: this.revision, event }));
  }

  /** Changes the progress of a share of a job with energy, and sends the event to watchers of tasks. */
  used(id: string, done: number, state: State = State.RUNNING): void {
    const job = this.jobs.get(id);
    if (job === undefined) throw new Error(`no job ${id}`);
    Object.assign(job, { done, state });
    this.revision += 1n;
    const value = create(TaskSchema, { id: `${id}.0`, jobId: id, state: State.RUNNING });
    const event = { case: "task" as const, value };
    this.#emit?.(create(WatchEventSchema, { revision: this.revision, event }));
  }

  #jobOf(id: string): Job {
    this.looks += 1;
    const job = this.jobs.get(id);
    if (job === undefined) throw new AppError("not_found", `no job ${id}`);
    const { state, done, submission } = job;
    const { wattSeconds = 0n } = submission.spec?.energy ?? {};
    const times = state === State.PENDING ? {} : { startedAtMs: 5n };
    const isOver = state !== State.PENDING && state !== State.RUNNING;
    return create(JobSchema, {
      id,
      state,
      ...times,
      ...(isOver && { endedAtMs: 9n }),
      energy: { wattSeconds, doneWattSeconds: BigInt(done) },
    });
  }

  /** Ends the watch. */
  cut(error: AppError): void {
    this.#emit?.(error);
    this.#emit = undefined;
  }

  #taskOf(id: string): Task {
    this.looks += 1;
    const job = this.jobs.get(id);
    if (job === undefined) throw new AppError("not_found", `no task ${id}`);
    const { state } = job;
    const times = state === State.PENDING ? {} : { startedAtMs: 5n, endedAtMs: 6n };
    return create(TaskSchema, { id, jobId: id, state, ...times });
  }

  async #submit(all: readonly JobSubmission[]): Promise<unknown> {
    const names = all.map(({ spec }) => spec?.name ?? "");
    this.submissions.push(names);
    const refusal = this.refuse(names);
    if (refusal !== undefined) throw refusal;
    const jobs = all.map((submission) => {
      const known = [...this.jobs.values()].find(
        (job) => job.submission.idempotencyKey === submission.idempotencyKey,
      );
      const id = known?.id ?? `${this.jobs.size + 100}`;
      if (known === undefined) this.jobs.set(id, { id, submission, state: State.PENDING, done: 0 });
      return { id, existed: known !== undefined };
    });
    await this.answering;
    return create(SubmitJobsResponseSchema, { jobs, revision: this.revision });
  }

  async *#watch(after: bigint | undefined, signal: AbortSignal): AsyncGenerator<WatchEvent> {
    this.watchedFrom.push(after);
    const told: (WatchEvent | AppError)[] = [];
    let wake: () => void = () => undefined;
    this.#emit = (event) => {
      told.push(event);
      wake();
    };
    signal.addEventListener("abort", () => this.#emit?.(new AppError("unavailable", "over")));
    yield create(WatchEventSchema, {
      revision: after ?? this.revision,
      event: { case: "sync", value: {} },
    });
    for (;;) {
      const next = told.shift();
      if (next instanceof AppError) throw next;
      if (next !== undefined) yield next;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  }
}
