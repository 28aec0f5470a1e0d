import { AppError } from "../../../lib/errors.ts";
import type { LowerEnd, LowerIds, LowerJob, LowerScheduler, LowerState } from "../scheduler.ts";
import { submitEach } from "../submit-each.ts";

/** A scheduler whose jobs the test controls. Ids are "1", "2", of arrays "3_0", "3_1". */
export class FakeScheduler implements LowerScheduler {
  readonly name = "fake";
  readonly inside = { id: "$FAKE_ID", index: "$FAKE_INDEX" };
  readonly submitted: LowerJob[] = [];
  readonly cancelled: [id: string, how: "ask" | "kill"][] = [];
  readonly calls: string[] = [];
  readonly states = new Map<string, LowerState>();
  /** An error instead of an answer; the scheduler may have accepted the job all the same. */
  trouble: ((call: string) => AppError | undefined) | undefined;
  /** Whether the scheduler accepts a submission that it answers by trouble. */
  takesInTrouble = false;
  /** Elements of arrays that it does not accept in trouble. */
  readonly dropped = new Set<number>();
  /** The id of the next submission; a scheduler that lost its data counts from the start again. */
  nextId = 1;
  readonly #idsOfMarker = new Map<string, Map<number | undefined, string>>();

  writesIntoOutput(): boolean {
    return false;
  }

  launcher(): readonly string[] {
    return ["launch"];
  }

  submitAll: LowerScheduler["submitAll"] = (jobs) => submitEach(jobs, (job) => this.#submit(job));

  #submit(job: LowerJob): Promise<LowerIds> {
    const error = this.#call("submit");
    if (error === undefined) return Promise.resolve(this.#take(job));
    if (this.takesInTrouble) this.#take(job);
    return Promise.reject(error);
  }

  #take(job: LowerJob): LowerIds {
    this.submitted.push(job);
    const number = this.nextId++;
    const taken = this.#idsOfMarker.get(job.marker) ?? new Map<number | undefined, string>();
    this.#idsOfMarker.set(job.marker, taken);
    return (job.indexes ?? [undefined]).map((index) => {
      const id = index === undefined ? `${number}` : `${number}_${index}`;
      if (index !== undefined && this.dropped.has(index)) return id;
      taken.set(index, id);
      this.states.set(id, { kind: "queued" });
      return id;
    });
  }

  find: LowerScheduler["find"] = (queries) => {
    const error = this.#call("find");
    if (error !== undefined) return Promise.reject(error);
    const found = new Map<string, (string | undefined)[]>();
    for (const { marker, indexes } of queries) {
      const ids = this.#idsOfMarker.get(marker);
      if (ids === undefined) continue;
      found.set(
        marker,
        (indexes ?? [undefined]).map((index) => ids.get(index)),
      );
    }
    return Promise.resolve(found);
  };

  poll: LowerScheduler["poll"] = (ids) => {
    const error = this.#call("poll");
    if (error !== undefined) return Promise.reject(error);
    const unknown = { kind: "unknown" } as const;
    return Promise.resolve(new Map(ids.map((id) => [id, this.states.get(id) ?? unknown])));
  };

  cancel(ids: readonly string[], how: "ask" | "kill"): Promise<void> {
    const error = this.#call("cancel");
    if (error !== undefined) return Promise.reject(error);
    for (const id of ids) this.cancelled.push([id, how]);
    return Promise.resolve();
  }

  run(id: string, startedAtMs = 1_000): void {
    this.states.set(id, { kind: "running", startedAtMs });
  }

  end(id: string, end: LowerEnd = { kind: "exited", exitCode: 0 }, endedAtMs = 2_000): void {
    const startedAtMs = end.kind === "skipped" ? undefined : 1_000;
    this.states.set(id, { kind: "ended", startedAtMs, endedAtMs, end });
  }

  #call(name: string): AppError | undefined {
    this.calls.push(name);
    return this.trouble?.(name);
  }
}

export const away = (): AppError => new AppError("unavailable", "the controller is away");
