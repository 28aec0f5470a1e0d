import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Book } from "./book.ts";
import { endOfPart } from "./ends.ts";
import type { PartFiles } from "./part-files.ts";
import type { Part } from "./run.ts";
import { readinessOf } from "./submission.ts";
import type { LowerEnd, LowerScheduler, LowerState } from "./scheduler.ts";

export interface PollerOptions {
  readonly book: Book;
  readonly files: PartFiles;
  readonly scheduler: LowerScheduler;
  readonly clock: Clock;
}

/** Asks the scheduler how its jobs do, all in one call, and notes it. */
export class Poller {
  readonly #options: PollerOptions;

  constructor(options: PollerOptions) {
    this.#options = options;
  }

  async poll(): Promise<void> {
    const { book, scheduler } = this.#options;
    const parts = new Map<string, Part>();
    for (const run of book.active) {
      for (const part of run.parts.flat()) {
        if (part.state.kind === "submitted") parts.set(part.state.id, part);
      }
    }
    if (parts.size === 0) return;
    const states = await scheduler.poll([...parts.keys()]);
    const skipped: string[] = [];
    for (const [id, part] of parts) {
      const state = states.get(id) ?? { kind: "unknown" };
      this.#hear(part, id, state);
      if (state.kind === "ended" && state.end.kind === "skipped") skipped.push(id);
    }
    // Some schedulers keep for ever what can never begin.
    if (skipped.length > 0) await scheduler.cancel(skipped, "ask");
  }

  #hear(part: Part, id: string, state: LowerState): void {
    const { book, files } = this.#options;
    switch (state.kind) {
      case "queued":
        return book.see(part, { isRunning: false, missingSinceMs: undefined });
      case "running":
        book.begin(part, state.startedAtMs);
        return book.see(part, { isRunning: true, missingSinceMs: undefined });
      case "ended": {
        const owner = files.ownerOf(part.key);
        if (owner !== undefined && owner !== id) return book.adopt(part, owner);
        if (state.startedAtMs !== undefined) book.begin(part, state.startedAtMs);
        return this.#end(part, state.end, state.endedAtMs);
      }
      case "unknown":
        return this.#miss(part, id);
    }
  }

  /** The scheduler has no record of a part: no more, or it never had. */
  #miss(part: Part, id: string): void {
    const { book, files, clock, scheduler } = this.#options;
    const nowMs = clock.nowMs();
    const owner = files.ownerOf(part.key);
    if (owner !== undefined && owner !== id) return book.adopt(part, owner);
    const left = files.exitOf(part.key);
    if (left === undefined && part.run.stop?.asked !== undefined) {
      files.takePart(part.key); // what was asked to end is gone
      return this.#end(part, { kind: "cancelled" }, nowMs);
    }
    const message = `${scheduler.name} has no record of job ${id} any more, and it left no exit code`;
    if (left !== undefined) return this.#end(part, { kind: "vanished", message }, left.atMs);
    const sinceMs = part.state.kind === "submitted" ? part.state.missingSinceMs : undefined;
    if (sinceMs === undefined || nowMs < sinceMs + limits.lowerMissingMsMax) {
      return book.see(part, { isRunning: false, missingSinceMs: sinceMs ?? nowMs });
    }
    return this.#end(part, { kind: "vanished", message }, nowMs);
  }

  #end(part: Part, lower: LowerEnd, endedAtMs: number): void {
    const { book, files, scheduler } = this.#options;
    const left = files.exitOf(part.key);
    const hasBegun = part.startedAtMs !== undefined || left !== undefined;
    const readiness = readinessOf(part);
    // Not every record says why: what could never begin was not cancelled by anybody.
    const isSkipped = lower.kind === "cancelled" && !hasBegun && readiness.kind === "never";
    const why = isSkipped ? ({ kind: "skipped", message: readiness.message } as const) : lower;
    const end = endOfPart(why, left?.outcome, {
      stop: part.run.stop,
      hasBegun,
      program: part.run.terms.steps[part.step]?.program ?? "",
      scheduler: scheduler.name,
    });
    // The wrapper's exit file tells when the command ended; schedulers clean up before they say so.
    book.endPart(part, end, Math.min(endedAtMs, left?.atMs ?? endedAtMs));
  }
}
