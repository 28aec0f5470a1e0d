import type { Clause, DependencyTarget, TargetClause } from "../../model/job/dependency.ts";
import type { JobId } from "../../model/ids.ts";
import type { JobRecord } from "../jobs/job-record.ts";
import type { JobTable } from "../jobs/job-table.ts";
import type { Progress } from "../../model/progress.ts";
import { isJobEnded } from "../../model/progress.ts";
import { Singletons } from "./singletons.ts";
import { mayChangeVerdicts, verdictOn } from "./verdict.ts";

/** One clause of a waiting job, and its progress. */
export interface HeldClause {
  readonly clause: Clause;
  /** The number of targets that met the condition, and of those that never will. */
  met: number;
  lost: number;
  isMet: boolean;
}

/** A job that waits for dependencies. */
export interface Hold {
  readonly id: JobId;
  readonly clauses: readonly HeldClause[];
  readonly waiters: Waiter[];
  /** Clauses that are not met yet. */
  unmet: number;
  /** The clause that can never be met. */
  broken: HeldClause | undefined;
}

/** One target of one clause. */
interface Waiter {
  readonly hold: Hold;
  readonly held: HeldClause;
  readonly clause: TargetClause;
  readonly target: DependencyTarget;
  isDecided: boolean;
}

/** The dependents of a job as a whole, and those of its tasks. */
interface Dependents {
  readonly whole: Set<Waiter>;
  readonly byIndex: Map<number, Set<Waiter>>;
}

/**
 * Jobs that wait for dependencies, their targets, and those whose outcome is known. Follows
 * State.apply: an event of a job costs as much as it has dependents, however many other dependencies
 * these have. `settle` writes the outcomes to rows.
 */
export class Holds {
  readonly #jobs: JobTable;
  readonly #holds = new Map<JobId, Hold>();
  readonly #dependents = new Map<JobId, Dependents>();
  readonly singletons: Singletons;
  /** Holds with a known outcome, in the order in which it became known; some may be removed since. */
  #settled: Hold[] = [];
  #settledHead = 0;

  constructor(jobs: JobTable) {
    this.#jobs = jobs;
    this.singletons = new Singletons((id) => {
      const record = jobs.getOpen(id);
      return record === undefined || isJobEnded(record.progress);
    });
  }

  get size(): number {
    return this.#holds.size;
  }

  get(id: JobId): Hold | undefined {
    return this.#holds.get(id);
  }

  /** The job has these singleton names until it ends, whether it waits or runs. */
  declare({ job }: JobRecord): void {
    for (const one of job.spec.dependsOn ?? []) {
      if (one.kind === "singleton") this.singletons.add(one.name, job.id);
    }
  }

  /** The job waits. Its dependencies may be met already. */
  hold({ job: { id, waitsFor = [] } }: JobRecord): void {
    const clauses = waitsFor.map((clause) => ({ clause, met: 0, lost: 0, isMet: false }));
    const hold: Hold = { id, clauses, waiters: [], unmet: clauses.length, broken: undefined };
    this.#holds.set(id, hold);
    for (const held of clauses) {
      const { clause } = held;
      if (clause.kind === "singleton") this.#tryFirst(hold, clause.name);
      else for (const target of clause.of) this.#addWaiter(hold, held, clause, target);
    }
    if (clauses.length === 0) this.#settle(hold);
  }

  #addWaiter(hold: Hold, held: HeldClause, clause: TargetClause, target: DependencyTarget): void {
    const waiter: Waiter = { hold, held, clause, target, isDecided: false };
    hold.waiters.push(waiter);
    let dependents = this.#dependents.get(target.jobId);
    if (dependents === undefined) {
      dependents = { whole: new Set(), byIndex: new Map() };
      this.#dependents.set(target.jobId, dependents);
    }
    setOf(dependents, target.index).add(waiter);
    // A target with a larger id is of the same submission, and may not be added yet.
    if (target.jobId < hold.id || this.#jobs.has(target.jobId)) this.#look(waiter);
  }

  /** The job waits no more, or for other targets. */
  drop(id: JobId): void {
    const hold = this.#holds.get(id);
    if (hold === undefined) return;
    this.#holds.delete(id);
    for (const waiter of hold.waiters) {
      const { jobId, index } = waiter.target;
      const dependents = this.#dependents.get(jobId);
      if (dependents === undefined) continue;
      const waiters = setOf(dependents, index);
      waiters.delete(waiter);
      if (index !== undefined && waiters.size === 0) dependents.byIndex.delete(index);
      const isLast = dependents.whole.size === 0 && dependents.byIndex.size === 0;
      if (isLast) this.#dependents.delete(jobId);
    }
  }

  /** The progress of the job changed. */
  progressed({ job, progress }: JobRecord, before: Progress): void {
    const dependents = this.#dependents.size === 0 ? undefined : this.#dependents.get(job.id);
    if (dependents === undefined || !mayChangeVerdicts(before, progress)) return;
    for (const waiter of dependents.whole) this.#look(waiter);
  }

  /** One of its tasks changed; `index` undefined: many did, because the job was closed. */
  tasksMoved(id: JobId, index: number | undefined): void {
    const dependents = this.#dependents.size === 0 ? undefined : this.#dependents.get(id);
    if (dependents === undefined || dependents.byIndex.size === 0) return;
    const moved = index === undefined ? dependents.byIndex.keys() : [index];
    for (const one of moved) {
      for (const waiter of dependents.byIndex.get(one) ?? []) this.#look(waiter);
    }
  }

  /** A job with dependencies has ended: the next job of its singletons may start. */
  ended({ job }: JobRecord): void {
    this.drop(job.id);
    for (const one of job.spec.dependsOn ?? []) {
      if (one.kind !== "singleton") continue;
      const next = this.singletons.first(one.name);
      const hold = next === undefined ? undefined : this.#holds.get(next);
      if (hold !== undefined) this.#tryFirst(hold, one.name);
    }
  }

  #tryFirst(hold: Hold, name: string): void {
    if (this.singletons.first(name) !== hold.id) return;
    for (const held of hold.clauses) {
      if (held.clause.kind === "singleton" && held.clause.name === name) this.#met(hold, held);
    }
  }

  #look(waiter: Waiter): void {
    if (waiter.isDecided) return;
    const { hold, held, clause, target } = waiter;
    const verdict = verdictOn(this.#jobs, clause.when, target);
    if (verdict === "open") return;
    waiter.isDecided = true;
    if (verdict === "met") {
      held.met++;
      if (held.met >= clause.atLeast) this.#met(hold, held);
      return;
    }
    held.lost++;
    if (clause.of.length - held.lost >= clause.atLeast || hold.broken !== undefined) return;
    hold.broken = held;
    this.#settle(hold);
  }

  #met(hold: Hold, held: HeldClause): void {
    if (held.isMet) return;
    held.isMet = true;
    hold.unmet--;
    if (hold.unmet === 0) this.#settle(hold);
  }

  #settle(hold: Hold): void {
    this.#settled.push(hold);
  }

  /** The next hold with a known outcome that is not written yet. */
  nextSettled(): Hold | undefined {
    for (;;) {
      const hold = this.#settled[this.#settledHead];
      if (hold === undefined) {
        this.#settled = [];
        this.#settledHead = 0;
        return undefined;
      }
      if (this.#holds.get(hold.id) === hold) return hold;
      this.#settledHead++;
      if (this.#settledHead >= 1_024 && this.#settledHead * 2 > this.#settled.length) {
        this.#settled = this.#settled.slice(this.#settledHead);
        this.#settledHead = 0;
      }
    }
  }

  /** Jobs that depend on this one or a task of it, whether they know its outcome or not. */
  *dependentsOf(id: JobId): Iterable<Hold> {
    const dependents = this.#dependents.get(id);
    if (dependents === undefined) return;
    for (const { hold } of dependents.whole) yield hold;
    for (const waiters of dependents.byIndex.values()) for (const { hold } of waiters) yield hold;
  }

  hasDependents(id: JobId): boolean {
    return this.#dependents.has(id);
  }
}

function setOf(dependents: Dependents, index: number | undefined): Set<Waiter> {
  if (index === undefined) return dependents.whole;
  let waiters = dependents.byIndex.get(index);
  if (waiters === undefined) {
    waiters = new Set();
    dependents.byIndex.set(index, waiters);
  }
  return waiters;
}
