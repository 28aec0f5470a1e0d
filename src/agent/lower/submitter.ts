import { AppError, describeChain } from "../../lib/errors.ts";
import { invariant } from "../../lib/invariant.ts";
import { limits } from "../../limits.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LowerLedger } from "./lower-ledger.ts";
import type { PartFiles } from "./wrapper/part-files.ts";
import type { LowerStep, ToSteps } from "./plan-run.ts";
import { planRun } from "./plan-run.ts";
import type { Part, LowerRun } from "./run.ts";
import type { LowerJob, LowerScheduler } from "./scheduler.ts";
import type { Ready, LowerSubmission } from "./submission.ts";
import { gather, prepare, readinessOf, toSubmission } from "./submission.ts";

export interface LowerSubmitterOptions {
  readonly ledger: LowerLedger;
  readonly files: PartFiles;
  readonly scheduler: LowerScheduler;
  readonly toSteps: ToSteps;
  /** Distinguishes agents that use the same scheduler. */
  readonly owner: string;
  readonly clock: Clock;
}

interface Plan {
  readonly name: string;
  readonly arrayIndex: number | undefined;
  readonly steps: readonly LowerStep[];
}

/**
 * Submits parts to the scheduler, each once: the intention is in the journal before the call, and after a call
 * without an answer the agent looks the parts up before it submits them again.
 */
export class LowerSubmitter {
  readonly #options: LowerSubmitterOptions;
  /** Plans of runs that are not submitted yet; read again from disk when they are missing here. */
  readonly #plans = new Map<string, Plan>();
  /** Parts of arrays that exceeded the scheduler's limit. */
  readonly #alone = new Set<string>();
  /**
   * Parts whose submission the scheduler rejected while their dependencies were jobs of its own, perhaps
   * because one has failed since. They are submitted again when all dependencies have succeeded.
   */
  readonly #afterAll = new Set<string>();

  constructor(options: LowerSubmitterOptions) {
    this.#options = options;
  }

  /** When a lookup is due; undefined: none is. */
  get lookUpAtMs(): number | undefined {
    let atMs: number | undefined;
    for (const { sinceMs } of this.#options.ledger.submissions.values()) {
      atMs = Math.min(atMs ?? Number.POSITIVE_INFINITY, sinceMs + limits.lowerSettleMs);
    }
    return atMs;
  }

  /** Asks the scheduler whether it has the submissions that it did not answer. */
  async lookUp(): Promise<void> {
    const { ledger, files, scheduler, clock } = this.#options;
    const nowMs = clock.nowMs();
    const due = [...ledger.submissions.values()].filter(
      ({ sinceMs }) => nowMs >= sinceMs + limits.lowerSettleMs,
    );
    if (due.length === 0) return;
    const found = await scheduler.find(due);
    for (const submission of due) {
      const ids = found.get(submission.marker) ?? [];
      // The scheduler may have no record of a job that has ended since; the job's files are still there.
      const known = submission.parts.map(({ key }, at) => ids[at] ?? files.ownerOf(key));
      ledger.settleSubmission(submission, known);
    }
    ledger.write();
  }

  /** Ends queued parts that are no longer needed: their run is stopped, or another step has failed. */
  endIdle(): void {
    const { ledger, files } = this.#options;
    for (const { part, run } of this.#waiting()) {
      const readiness = readinessOf(part);
      if (run.stop !== undefined) {
        if (!files.takePart(part.key)) {
          // A submission without an answer has begun.
          ledger.adopt(part, files.ownerOf(part.key) ?? "");
          continue;
        }
        ledger.endPart(part, { kind: run.stop.cause, signal: undefined });
      } else if (readiness.kind === "never") {
        ledger.endPart(part, { kind: "skipped", message: readiness.message });
      }
    }
  }

  /** Submits a bounded number of jobs that are ready. Returns whether there may be more. */
  async submit(): Promise<boolean> {
    const { ledger } = this.#options;
    this.endIdle();
    const isOver = (key: string): boolean => {
      const run = ledger.runs.get(key);
      return run === undefined || run.ended !== undefined;
    };
    for (const key of this.#plans.keys()) if (isOver(key)) this.#plans.delete(key);
    for (const parts of [this.#alone, this.#afterAll]) {
      for (const key of parts) if (isOver(runKeyOf(key))) parts.delete(key);
    }
    const ready = this.#waiting().flatMap(({ part, run }) => this.#ready(part, run));
    const groups = gather(ready);
    await this.#submitAll(groups.slice(0, limits.lowerSubmissionsPerRoundMax));
    return groups.length > 0; // also parts that depend on those submitted just now
  }

  #waiting(): { readonly part: Part; readonly run: LowerRun }[] {
    return Array.from(this.#options.ledger.active, (run) =>
      run.parts.flat().map((part) => ({ part, run })),
    )
      .flat()
      .filter(({ part }) => part.state.kind === "waiting");
  }

  #ready(part: Part, run: LowerRun): readonly Ready[] {
    const readiness = readinessOf(part);
    if (readiness.kind !== "ready") return [];
    if (readiness.after.length > 0 && this.#afterAll.has(part.key)) return [];
    try {
      const plan = this.#planOf(run);
      const step = plan.steps[part.step];
      if (step === undefined) throw new Error("its spec has changed");
      const isAlone = run.terms.steps.length === 1;
      const name = isAlone ? plan.name : `${plan.name}/${step.terms.name}`;
      const index = this.#alone.has(part.key) ? undefined : (part.copy ?? plan.arrayIndex);
      return [{ part, step, index, name }];
    } catch (error) {
      this.#refuse([part], error);
      return [];
    }
  }

  #planOf(run: LowerRun): Plan {
    const { files, toSteps } = this.#options;
    let plan = this.#plans.get(run.key);
    if (plan === undefined) {
      const request = files.readRequest(run.key);
      const { name, arrayIndex } = request;
      plan = { name, arrayIndex, steps: planRun(request, toSteps) };
      this.#plans.set(run.key, plan);
    }
    return plan;
  }

  async #submitAll(groups: readonly (readonly Ready[])[]): Promise<void> {
    const { ledger, scheduler, owner } = this.#options;
    const all = groups.map((members) => ({ members, submission: toSubmission(members, owner) }));
    const failure = ledger.beginSubmissions(all.map(({ submission }) => submission));
    if (failure !== undefined) throw failure;
    const prepared = all.flatMap(({ members, submission }) => {
      const job = this.#prepare(submission, members);
      return job === undefined ? [] : [{ submission, job }];
    });
    const answers = await scheduler.submitAll(prepared.map(({ job }) => job));
    let unavailable: AppError | undefined;
    for (const [at, { submission, job }] of prepared.entries()) {
      const answer = answers[at];
      invariant(answer !== undefined, "each submission is answered");
      if (answer.kind === "taken") ledger.settleSubmission(submission, answer.ids);
      else if (answer.error.code !== "unavailable") {
        this.#refused(submission, answer.error, job.after.length > 0);
      } else {
        ledger.doubtSubmission(submission);
        unavailable ??= answer.error;
      }
    }
    ledger.write();
    if (unavailable !== undefined) throw unavailable;
  }

  /** undefined: its files could not be written, which ended its parts. */
  #prepare(submission: LowerSubmission, members: readonly Ready[]): LowerJob | undefined {
    const { files, scheduler } = this.#options;
    const after = afterOf(members);
    try {
      return prepare(submission, members, { files, scheduler, after });
    } catch (error) {
      this.#refused(submission, error, after.length > 0);
      return undefined;
    }
  }

  #refused(submission: LowerSubmission, error: unknown, hasDependencies: boolean): void {
    const { ledger } = this.#options;
    const { parts } = submission;
    const isTooMany = error instanceof AppError && error.code === "exhausted" && parts.length > 1;
    if (isTooMany) for (const { key } of parts) this.#alone.add(key);
    else if (hasDependencies) for (const { key } of parts) this.#afterAll.add(key);
    else this.#refuse(parts, error);
    ledger.settleSubmission(submission, []);
  }

  #refuse(parts: readonly Part[], error: unknown): void {
    const message = describeChain(error);
    for (const part of parts)
      this.#options.ledger.endPart(part, { kind: "could-not-start", message });
  }
}

/** Ids of the jobs that must have succeeded before these begin. */
function afterOf(members: readonly Ready[]): readonly string[] {
  const after = members.flatMap(({ part }) => {
    const readiness = readinessOf(part);
    return readiness.kind === "ready" ? readiness.after : [];
  });
  return [...new Set(after)];
}

/** "17.0.1" of the part "17.0.1/2/5". */
const runKeyOf = (partKey: string): string => partKey.split("/", 1)[0] ?? "";
