import type { StateValues } from "../../graph/cluster-state.ts";
import type { ResourceChoice } from "../../graph/request/request.ts";
import type { IndexRanges } from "./array-range.ts";
import type { ContainerTerms } from "./containers/containers.ts";
import { countIndexes, SINGLE } from "./array-range.ts";
import type { Clause, Dependency } from "./dependency.ts";
import type { EnergyTerms } from "./energy.ts";
import type { GroupId, JobId, ServiceId } from "../ids.ts";
import type { Resources } from "../resources.ts";
import type { PlainTerms } from "./plain-fields.ts";
import type { ServiceTerms } from "../service/service-terms.ts";
import type { UserHold } from "./user-hold.ts";

/** The work of a task. Never a command string: nothing is quoted, so nothing can be misquoted. */
export type Work =
  /** Without arguments: nothing, with energy for nodes that need no command; in an image: its own command. */
  | { readonly kind: "command"; readonly argv: readonly string[] }
  /** `args`: of the script; absent: none. */
  | { readonly kind: "script"; readonly text: string; readonly args?: readonly string[] }
  /** A whole jobspec, as it was written: for one pull cluster, which runs all of its tasks. */
  | { readonly kind: "jobspec"; readonly text: string }
  /** The definition of a workload, as it was written: for nodes that run instances of workloads. */
  | { readonly kind: "workload"; readonly text: string };

/** Where a task may run; absent fields do not restrict it. */
export interface Where {
  /** Only on managed nodes, only on pull clusters, or on either, regardless of its request. */
  readonly kind?: "managed" | "pulling" | "any";
  readonly cluster?: string;
  readonly node?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Only where containers can be started: follows from the job's container terms. */
  readonly containers?: true;
  /** Only where a client can be attached: follows from the job's terms. */
  readonly attach?: true;
  /** Only where such instances can be started: follows from the job's workload. */
  readonly workload?: "Pod" | "FilePod" | "Function";
  /** Only where no other task uses this port of the node: follows from the job's workload. */
  readonly port?: number;
}

/** A failed attempt is followed by another, `backoffMs` later, doubling up to `backoffMaxMs`. */
export interface Retries {
  readonly max: number;
  readonly backoffMs: number;
  readonly backoffMaxMs: number;
}

export type Texts = Readonly<Record<string, string>>;

/** A way to choose between clusters: docs/graph.md. */
export interface SelectTerms {
  /** Undefined: the server's. */
  readonly strategy: string | undefined;
  readonly options: Readonly<Record<string, unknown>>;
  /** Variables of the job for expressions. */
  readonly parameters: StateValues;
}

/** How and where to run: the fields that many jobs share. */
export interface JobTerms extends OwnTerms, PlainTerms {}

/** The terms that the core itself interprets. */
export interface OwnTerms {
  readonly group: GroupId;
  readonly labels: Texts;
  readonly env: Texts;
  readonly cwd: string | undefined;
  /** Its containers; undefined: none. */
  readonly container: ContainerTerms | undefined;
  readonly needs: Resources;
  /** The graph request of a task; undefined: `needs` is the whole request. */
  readonly request: ResourceChoice | undefined;
  /** How one of several clusters is chosen; undefined: by the server's strategy. */
  readonly select: SelectTerms | undefined;
  readonly where: Where;
  /** undefined: one task, with index 0 and no array variables. */
  readonly array: IndexRanges | undefined;
  /** The number of tasks of an array that may be active at once; undefined: any number. */
  readonly tasksAtOnce: number | undefined;
  readonly priority: number;
  readonly retries: Retries;
  /** It has no natural end, and is restarted; undefined: it ends. */
  readonly service: ServiceTerms | undefined;
  readonly timeLimitMs: number | undefined;
  readonly killGraceMs: number;
  readonly queueDeadlineMs: number | undefined;
  readonly outputLimitBytes: number;
}

/**
 * The request of the user, complete: defaults are filled in at submission. Only an update replaces it, and a job whose cluster is deleted
 * may name another.
 */
export interface JobSpec extends OwnTerms {
  readonly name: string;
  readonly work: Work;
  readonly terms: JobTerms;
  /** Its dependencies, as they were written; undefined: none. */
  readonly dependsOn: readonly Dependency[] | undefined;
  /** Its energy, in shares that are made when they are placed; undefined: it has one task, or those of its array. */
  readonly energy: EnergyTerms | undefined;
  /** A text for each task of its array, by index; absent: none. */
  readonly entries?: readonly string[] | undefined;
}

/**
 * A spec that shares its terms with equal ones: otherwise a million queued jobs would hold a hundred
 * megabytes of the same fifteen fields.
 */
export class SharedSpec implements JobSpec {
  readonly name: string;
  readonly work: Work;
  readonly terms: JobTerms;
  readonly dependsOn: readonly Dependency[] | undefined;
  readonly energy: EnergyTerms | undefined;
  readonly entries?: readonly string[];

  constructor(
    name: string,
    work: Work,
    terms: JobTerms,
    { dependsOn, energy, entries }: Partial<Pick<JobSpec, "dependsOn" | "energy" | "entries">> = {},
  ) {
    this.name = name;
    this.work = work;
    this.terms = terms;
    this.dependsOn = dependsOn;
    this.energy = energy;
    if (entries !== undefined) this.entries = entries;
  }

  get group(): GroupId {
    return this.terms.group;
  }
  get labels(): Texts {
    return this.terms.labels;
  }
  get env(): Texts {
    return this.terms.env;
  }
  get cwd(): string | undefined {
    return this.terms.cwd;
  }
  get container(): ContainerTerms | undefined {
    return this.terms.container;
  }
  get needs(): Resources {
    return this.terms.needs;
  }
  get request(): ResourceChoice | undefined {
    return this.terms.request;
  }
  get select(): SelectTerms | undefined {
    return this.terms.select;
  }
  get where(): Where {
    return this.terms.where;
  }
  get array(): IndexRanges | undefined {
    return this.terms.array;
  }
  get tasksAtOnce(): number | undefined {
    return this.terms.tasksAtOnce;
  }
  get priority(): number {
    return this.terms.priority;
  }
  get retries(): Retries {
    return this.terms.retries;
  }
  get service(): ServiceTerms | undefined {
    return this.terms.service;
  }
  get timeLimitMs(): number | undefined {
    return this.terms.timeLimitMs;
  }
  get killGraceMs(): number {
    return this.terms.killGraceMs;
  }
  get queueDeadlineMs(): number | undefined {
    return this.terms.queueDeadlineMs;
  }
  get outputLimitBytes(): number {
    return this.terms.outputLimitBytes;
  }
}

/**
 * Ends every part of a job that has not started: its tasks without a row of their own, and those that
 * wait for another attempt. One row thus ends a million tasks.
 */
export interface Closing {
  /** failed: a job with energy whose shares failed too often; succeeded: a job with 0 watt-seconds. */
  readonly kind: "cancelled" | "expired" | "skipped" | "failed" | "succeeded";
  readonly atMs: number;
  readonly by: string;
  readonly reason: string;
  /** Skipped because its condition did not occur: nothing is missing. */
  readonly isNeedless?: true;
}

/** The instance of a service that a job is, or was. */
export interface InstanceRef {
  readonly service: ServiceId;
  readonly name: string;
  /** The generation of the template of the job. */
  readonly generation: number;
}

/** A job row: the spec, and decisions about the whole job. Its state is derived: progress.ts. */
export interface Job {
  readonly id: JobId;
  readonly spec: JobSpec;
  readonly submittedAtMs: number;
  readonly submittedBy: string;
  readonly idempotencyKey: string | undefined;
  readonly closed: Closing | undefined;
  /** Dependencies that are not known to be met, and keep it out of the queue. */
  readonly waitsFor: readonly Clause[] | undefined;
  /** The service instance that it is; undefined: none. */
  readonly instance?: InstanceRef | undefined;
  /** Other clusters that it may go to when its own is deleted, in order of preference. */
  readonly alternatives?: readonly string[] | undefined;
  /** A user holds it, or some of its tasks, in the queue. */
  readonly hold?: UserHold;
  /** The submitted values of terms that an update has replaced. */
  readonly submitted?: Partial<UpdatableTerms>;
  /** Who last held, released or updated it; absent: nobody. */
  readonly changedBy?: string;
}

/** Terms that can be replaced after submission. */
export type UpdatableTerms = Pick<JobTerms, "priority" | "timeLimitMs" | "group">;

/** The spec as it was submitted, before any update. */
export function submittedSpec({ spec, submitted }: Job): JobSpec {
  if (submitted === undefined) return spec;
  return specWith(spec, submitted);
}

/** The spec with other terms. */
export const specWith = (spec: JobSpec, terms: Partial<UpdatableTerms>): JobSpec =>
  new SharedSpec(spec.name, spec.work, { ...spec.terms, ...terms }, spec);

/** A job's row without later decisions about it. */
export function asSubmitted(job: Job): Job {
  const { hold: _, submitted: __, changedBy: ___, ...row } = job;
  return { ...row, spec: submittedSpec(job), closed: undefined };
}

/** A job with 0 watt-seconds succeeds as soon as nothing holds it. */
export function endedIfNothing(job: Job, atMs: number): Job {
  if (job.spec.energy?.wattSeconds !== 0) return job;
  const closed = {
    kind: "succeeded",
    atMs,
    by: "busbar",
    reason: "it requests no energy",
  } as const;
  return { ...job, closed };
}

export const rangesOf = (spec: JobSpec): IndexRanges => spec.array ?? SINGLE;

/** Whether an index distinguishes its tasks: "17.3". */
export const hasIndexes = ({ array, energy }: JobSpec): boolean =>
  array !== undefined || energy !== undefined;

/** The number of tasks at submission; for a job with energy, its unplaced energy counts as one. */
export const taskTotalOf = (spec: JobSpec): number =>
  spec.array === undefined ? 1 : countIndexes(spec.array);

/** The time at which tasks of a job that have not started expire. */
export interface Deadline {
  readonly atMs: number;
  readonly id: JobId;
}

/** The time at which tasks that have not started expire; undefined: never. */
export const deadlineOf = (job: Job): number | undefined =>
  job.spec.queueDeadlineMs === undefined ? undefined : job.submittedAtMs + job.spec.queueDeadlineMs;

/** The backoff before the attempt after the `failures`-th failure. */
export const backoffMs = (retries: Retries, failures: number): number =>
  Math.min(retries.backoffMaxMs, retries.backoffMs * 2 ** Math.min(failures - 1, 40));
