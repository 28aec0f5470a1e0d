import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { LowerLedger } from "./lower-ledger.ts";
import { Claims } from "./wrapper/claims.ts";
import { endOfPart } from "./ends.ts";
import type { PartFiles } from "./wrapper/part-files.ts";
import type { Part } from "./run.ts";
import { readinessOf } from "./submission.ts";
import type { LowerEnd, LowerScheduler, LowerState } from "./scheduler.ts";

export interface PollerOptions {
  readonly ledger: LowerLedger;
  readonly files: PartFiles;
  readonly scheduler: LowerScheduler;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Polls the scheduler for the states of its jobs, all in one call, and records them. */
export class Poller {
  readonly #options: PollerOptions;
  readonly #claims: Claims;

  constructor(options: PollerOptions) {
    this.#options = options;
    this.#claims = new Claims(options.files, options.clock);
  }

  async poll(): Promise<void> {
    const { ledger, scheduler } = this.#options;
    const parts = new Map<string, Part>();
    for (const run of ledger.active) {
      for (const part of run.parts.flat()) {
        if (part.state.kind !== "submitted") continue;
        const { id } = part.state;
        const earlier = parts.get(id);
        // A scheduler that lost its data counts from the start again: the id then means the later job.
        if (earlier !== undefined) this.#miss(earlier, id);
        parts.set(id, part);
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
    // Some schedulers keep jobs for ever that can never begin.
    if (skipped.length > 0) await scheduler.cancel(skipped, "ask");
  }

  #hear(part: Part, id: string, state: LowerState): void {
    const { ledger, files, clock } = this.#options;
    switch (state.kind) {
      case "queued":
        return ledger.see(part, {
          isRunning: false,
          missingSinceMs: undefined,
          reason: state.reason,
        });
      case "running":
        ledger.begin(part, state.startedAtMs);
        return ledger.see(part, { isRunning: true, missingSinceMs: undefined });
      case "ended": {
        const owner = files.ownerOf(part.key);
        if (owner !== undefined && owner !== id) return ledger.adopt(part, owner);
        if (this.#outlives(part, false)) {
          return ledger.see(part, { isRunning: true, missingSinceMs: clock.nowMs() });
        }
        if (state.startedAtMs !== undefined) ledger.begin(part, state.startedAtMs);
        return this.#end(part, state.end, state.endedAtMs);
      }
      case "unknown":
        return this.#miss(part, id);
    }
  }

  /** The scheduler has no record of a part: it dropped it, or never had one. */
  #miss(part: Part, id: string): void {
    const { ledger, files, clock, scheduler } = this.#options;
    const nowMs = clock.nowMs();
    const owner = files.ownerOf(part.key);
    if (owner !== undefined && owner !== id) return ledger.adopt(part, owner);
    const left = files.exitOf(part.key);
    const sinceMs = part.state.kind === "submitted" ? part.state.missingSinceMs : undefined;
    if (left === undefined && this.#outlives(part, true)) {
      if (sinceMs === undefined) this.#warn(part, id);
      return ledger.see(part, { isRunning: true, missingSinceMs: sinceMs ?? nowMs });
    }
    if (left === undefined && part.run.stop?.asked !== undefined) {
      if (!files.takePart(part.key) && files.ownerOf(part.key) !== id) return undefined;
      // A part that was stopped has ended.
      return this.#end(part, { kind: "cancelled" }, nowMs);
    }
    const message = `${scheduler.name} has no record of job ${id} any more, and it left no exit code`;
    if (left !== undefined) return this.#end(part, { kind: "vanished", message }, left.atMs);
    if (sinceMs === undefined || nowMs < sinceMs + limits.lowerMissingMsMax) {
      return ledger.see(part, { isRunning: false, missingSinceMs: sinceMs ?? nowMs });
    }
    return this.#end(part, { kind: "vanished", message }, nowMs);
  }

  /**
   * Whether a part still runs although its scheduler has no record of it, or reports it as ended: the scheduler restarted, or an instance
   * ended before its jobs. No new attempt runs beside such a part.
   */
  #outlives(part: Part, isForgotten: boolean): boolean {
    if (this.#options.files.exitOf(part.key) !== undefined) return false;
    const state = this.#claims.stateOf(part.key);
    if (state === "gone") return this.#claims.killLeft(part.key);
    return state === "running" || (state === "silent" && isForgotten);
  }

  #warn(part: Part, id: string): void {
    const { logger, scheduler, files } = this.#options;
    const host = files.runnerOf(part.key)?.host;
    const message = `${scheduler.name} has no record of a job that still runs; awaiting its end`;
    logger.warn({ run: part.run.key, job: id, host }, message);
  }

  #end(part: Part, lower: LowerEnd, endedAtMs: number): void {
    const { ledger, files, scheduler } = this.#options;
    const left = files.exitOf(part.key);
    const hasBegun = part.startedAtMs !== undefined || left !== undefined;
    const readiness = readinessOf(part);
    // Not every record has the reason: nobody cancelled a job that could never begin.
    const isSkipped = lower.kind === "cancelled" && !hasBegun && readiness.kind === "never";
    const why = isSkipped ? ({ kind: "skipped", message: readiness.message } as const) : lower;
    const end = endOfPart(why, left?.outcome, {
      stop: part.run.stop,
      hasBegun,
      program: part.run.terms.steps[part.step]?.program ?? "",
      scheduler: scheduler.name,
    });
    // The wrapper's exit file has the time of the command's end; schedulers clean up before they report it.
    this.#claims.remove(part.key);
    ledger.endPart(part, end, Math.min(endedAtMs, left?.atMs ?? endedAtMs));
  }
}
