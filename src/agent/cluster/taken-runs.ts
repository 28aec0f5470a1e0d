import type { Resources } from "../../core/model/resources.ts";
import { addInto } from "../../core/model/resources.ts";
import type { Executor, QueuedRuns, RunId, RunReport, RunRequest } from "../../ports/executor.ts";
import { runKey } from "../runs/run-key.ts";
import type { NeedsJournal } from "./needs-journal.ts";
import type { TakeCapacity } from "../../core/model/node/take-capacity.ts";
import type { Seen, TakenRun, TakeRule } from "./room.ts";
import { roomOf } from "./room.ts";
import { takenBy } from "./taken-by.ts";

/**
 * Wraps an executor and counts the runs that it started and reported, and hence the capacity that the agent
 * may still accept. It does not change what the executor does.
 */
export class TakenRuns implements Executor {
  readonly name: string;
  readonly #executor: Executor;
  readonly #journal: NeedsJournal;
  readonly #onChange: () => void;
  readonly #runs = new Map<string, TakenRun>();
  #moment = 0;
  #seen: Seen | undefined;

  /** Calls `onChange` after each start and each report. */
  constructor(executor: Executor, journal: NeedsJournal, onChange: () => void) {
    this.name = executor.name;
    this.#executor = executor;
    this.#journal = journal;
    this.#onChange = onChange;
    const keys = new Set<string>();
    for (const { id, report } of executor.known()) {
      keys.add(runKey(id));
      if (report.kind === "running") this.#note(runKey(id), { runsSince: this.#moment });
    }
    for (const id of executor.queued()) {
      keys.add(runKey(id));
      this.#note(runKey(id), {});
    }
    journal.keepOnly(keys);
    this.#moment += 1;
  }

  /** The requests of runs that are reported as running. */
  get used(): { readonly runs: number; readonly amounts: Resources } {
    const amounts: Record<string, number> = {};
    let runs = 0;
    for (const { needs, runsSince, endedAt } of this.#runs.values()) {
      if (runsSince === undefined || endedAt !== undefined) continue;
      runs += 1;
      addInto(amounts, needs);
    }
    return { runs, amounts };
  }

  /** How many accepted runs have not begun or ended. */
  get waiting(): number {
    const isWaiting = ({ runsSince, endedAt }: TakenRun): boolean =>
      runsSince === undefined && endedAt === undefined;
    return [...this.#runs.values()].filter(isWaiting).length;
  }

  /** Call this when an observation begins; the returned function receives its result. */
  observing(): (room: Pick<Seen, "free" | "own">) => void {
    const askedAt = (this.#moment += 1);
    return (room) => {
      this.#seen = { ...room, askedAt };
      for (const [key, { endedAt }] of this.#runs) {
        if (endedAt !== undefined && endedAt < askedAt) this.#runs.delete(key);
      }
    };
  }

  /** An observation failed: the agent accepts nothing while the free capacity is unknown. */
  notObserved(): void {
    this.#seen = undefined;
  }

  room(rule: TakeRule): TakeCapacity {
    return roomOf(rule, this.#seen, this.#runs.values());
  }

  start(request: RunRequest): void {
    const key = runKey(request.id);
    if (!this.#runs.has(key)) {
      this.#journal.add(key, takenBy(request));
      this.#note(key, {});
    }
    this.#executor.start(request);
    this.#onChange();
  }

  stop(id: RunId): void {
    this.#executor.stop(id);
  }

  forget(id: RunId): void {
    this.#journal.remove(runKey(id));
    this.#executor.forget(id);
  }

  known(): ReturnType<Executor["known"]> {
    return this.#executor.known();
  }

  queued(): readonly RunId[] {
    return this.#executor.queued();
  }

  whyQueued(): readonly QueuedRuns[] {
    return this.#executor.whyQueued?.() ?? [];
  }

  readOutput(...args: Parameters<Executor["readOutput"]>): ReturnType<Executor["readOutput"]> {
    return this.#executor.readOutput(...args);
  }

  onProgress(listener: Parameters<NonNullable<Executor["onProgress"]>>[0]): void {
    this.#executor.onProgress?.(listener);
  }

  onReport(listener: (id: RunId, report: RunReport) => void): void {
    this.#executor.onReport((id, report) => {
      this.#hear(runKey(id), report);
      listener(id, report);
      this.#onChange();
    });
  }

  close(): Promise<void> {
    return this.#executor.close();
  }

  #hear(key: string, report: RunReport): void {
    const known = this.#runs.get(key);
    this.#moment += 1;
    if (report.kind === "running") {
      this.#note(key, { runsSince: this.#moment });
    } else if (known !== undefined && known.endedAt === undefined) {
      this.#runs.set(key, { ...known, endedAt: this.#moment });
    }
  }

  #note(key: string, heard: { readonly runsSince?: number }): void {
    const needs = this.#journal.get(key) ?? {};
    this.#runs.set(key, { needs, runsSince: heard.runsSince, endedAt: undefined });
  }
}
