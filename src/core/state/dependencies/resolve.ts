import { unprocessable } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { hasIndex } from "../../model/job/array-range.ts";
import type { Clause, Dependency, DependencyTarget } from "../../model/job/dependency.ts";
import { WANTED } from "../../model/job/dependency.ts";
import { parseTaskId } from "../../model/ids.ts";
import type { JobId } from "../../model/ids.ts";
import type { JobSpec } from "../../model/job/job.ts";
import { rangesOf } from "../../model/job/job.ts";
import { defaultNameOf } from "../../model/job/job-spec.ts";
import type { State } from "../state.ts";
import { findCycle } from "./cycle.ts";
import { findNames, nearestName } from "./find-names.ts";

/** One job of a submission. `isNew`: no job with its idempotency key exists. */
export interface Submittable {
  readonly id: JobId;
  readonly spec: JobSpec;
  readonly isNew: boolean;
}

interface Named {
  readonly id: JobId;
  readonly spec: JobSpec;
}

/**
 * The targets of each new job of a submission, in order. Throws when a name is unknown or ambiguous, or
 * when the jobs depend on each other in a cycle.
 */
export function resolveDependencies(
  state: State,
  all: readonly Submittable[],
): ReadonlyMap<JobId, readonly Clause[]> {
  checkCount(all);
  const resolver = new Resolver(state, all);
  const clauses = new Map<JobId, readonly Clause[]>();
  for (const [at, { id, spec, isNew }] of all.entries()) {
    if (!isNew || spec.dependsOn === undefined) continue;
    const field = `jobs[${at}].dependsOn`;
    clauses.set(
      id,
      spec.dependsOn.map((one, line) => resolver.clause(one, `${field}[${line}]`)),
    );
  }
  checkCycles(all, clauses);
  return clauses;
}

function checkCount(all: readonly Submittable[]): void {
  let count = 0;
  for (const { spec } of all) {
    for (const one of spec.dependsOn ?? []) count += one.kind === "singleton" ? 1 : one.on.length;
  }
  if (count <= limits.dependenciesPerSubmissionMax) return;
  throw unprocessable(
    "jobs",
    `at most ${limits.dependenciesPerSubmissionMax} dependencies in one call`,
  );
}

const ID = /^\d+(?:\.\d+)?$/;
const TASK_NAME = /^(.+)\.(\d{1,9})$/s;

class Resolver {
  readonly #state: State;
  readonly #here = new Map<string, Named>();
  /** Names that Busbar gave to several jobs: an error only if a dependency uses one of them. */
  readonly #unclear = new Set<string>();
  readonly #elsewhere: ReadonlyMap<string, JobId>;

  constructor(state: State, all: readonly Submittable[]) {
    this.#state = state;
    for (const [at, one] of all.entries()) this.#note(one, `jobs[${at}].name`);
    this.#elsewhere = findNames(state, this.#namesNotHere(all));
  }

  #note({ id, spec }: Submittable, field: string): void {
    const other = this.#here.get(spec.name);
    if (other !== undefined && other.id !== id) {
      const isGiven = [spec, other.spec].every(
        ({ name, work, container }) => name === defaultNameOf(work, container !== undefined),
      );
      if (!isGiven) {
        throw unprocessable(
          field,
          `${JSON.stringify(spec.name)} appears twice; jobs that depend on each other need different names`,
        );
      }
      this.#unclear.add(spec.name);
    }
    this.#here.set(spec.name, { id, spec });
  }

  #namesNotHere(all: readonly Submittable[]): ReadonlySet<string> {
    const names = new Set<string>();
    for (const { spec, isNew } of all) {
      for (const one of (isNew ? spec.dependsOn : undefined) ?? []) {
        if (one.kind === "singleton") continue;
        for (const text of one.on) {
          if (ID.test(text) || this.#here.has(text)) continue;
          names.add(text);
          const base = TASK_NAME.exec(text)?.[1];
          if (base !== undefined && !this.#here.has(base)) names.add(base);
        }
      }
    }
    return names;
  }

  clause(dependency: Dependency, field: string): Clause {
    if (dependency.kind === "singleton") return dependency;
    const targets = new Map<string, DependencyTarget>();
    for (const [at, text] of dependency.on.entries()) {
      const target = this.#target(text, `${field}.on[${at}]`);
      targets.set(`${target.jobId}.${target.index ?? ""}`, target);
    }
    const of = [...targets.values()];
    const { atLeast = of.length, kind } = dependency;
    if (atLeast > of.length) {
      throw unprocessable(
        `${field}.atLeast`,
        `is ${atLeast}, but the list has only ${of.length} different jobs`,
      );
    }
    return { kind: "jobs", when: WANTED[kind], atLeast, of };
  }

  #target(text: string, field: string): DependencyTarget {
    if (ID.test(text)) {
      const { jobId, index } = parseTaskId(text, field);
      const spec = this.#state.jobs.get(jobId)?.job.spec;
      if (spec === undefined)
        throw unprocessable(field, `there is no job ${jobId}; it may have been removed`);
      return (
        targetOf({ id: jobId, spec }, index) ?? fail(field, `job ${jobId} has no task ${index}`)
      );
    }
    const match = TASK_NAME.exec(text);
    const base = match?.[1] ?? "";
    const index = match === null ? undefined : Number(match[2]);
    const target =
      this.#named(this.#isHere(text, field), undefined) ??
      this.#named(this.#isHere(base, field), index) ??
      this.#named(this.#isElsewhere(text), undefined) ??
      this.#named(this.#isElsewhere(base), index);
    return target ?? fail(field, this.#unknown(text, base, index));
  }

  #named(job: Named | undefined, index: number | undefined): DependencyTarget | undefined {
    return job === undefined ? undefined : targetOf(job, index);
  }

  #isHere(name: string, field: string): Named | undefined {
    if (this.#unclear.has(name)) {
      throw unprocessable(
        field,
        `several jobs here have the name ${JSON.stringify(name)}; give each its own name`,
      );
    }
    return this.#here.get(name);
  }

  #isElsewhere(name: string): Named | undefined {
    const id = this.#elsewhere.get(name);
    const spec = id === undefined ? undefined : this.#state.jobs.get(id)?.job.spec;
    return id === undefined || spec === undefined ? undefined : { id, spec };
  }

  #unknown(text: string, base: string, index: number | undefined): string {
    const isKnown = this.#here.has(base) || this.#elsewhere.has(base);
    if (index !== undefined && isKnown) return `${JSON.stringify(base)} has no task ${index}`;
    const meant = nearestName(this.#state, text, this.#here.keys());
    const hint = meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`;
    return `there is no job called ${JSON.stringify(text)}${hint}`;
  }
}

/** "17.0" of a job without array means the job itself. */
function targetOf({ id, spec }: Named, index: number | undefined): DependencyTarget | undefined {
  if (index === undefined) return { jobId: id };
  if (!hasIndex(rangesOf(spec), index)) return undefined;
  return spec.array === undefined ? { jobId: id } : { jobId: id, index };
}

function fail(field: string, message: string): never {
  throw unprocessable(field, message);
}

/** Only new jobs can depend on new ones, so a cycle lies within one submission. */
function checkCycles(
  all: readonly Submittable[],
  clauses: ReadonlyMap<JobId, readonly Clause[]>,
): void {
  const places = new Map<JobId, number>();
  for (const [at, { id, isNew }] of all.entries()) if (isNew) places.set(id, at);
  const before = new Map<string, number>();
  const edges = all.map(({ id, isNew }, at) => {
    const others: number[] = [];
    for (const clause of (isNew ? clauses.get(id) : undefined) ?? []) {
      if (clause.kind === "jobs") {
        for (const { jobId } of clause.of) others.push(places.get(jobId) ?? -1);
      } else {
        // Jobs with the same singleton each wait for the one before.
        others.push(before.get(clause.name) ?? -1);
        before.set(clause.name, at);
      }
    }
    return others.filter((other) => other >= 0);
  });
  const cycle = findCycle({ count: all.length, next: (node) => edges[node] ?? [] });
  if (cycle === undefined) return;
  const names = cycle.map((at) => all[at]?.spec.name ?? "");
  const shown =
    names.length <= limits.cycleShownMax + 1
      ? names
      : [...names.slice(0, limits.cycleShownMax), "…", ...names.slice(-1)];
  throw unprocessable(
    `jobs[${cycle[0]}].dependsOn`,
    `jobs cannot wait for each other in a circle: ${shown.join(" -> ")}`,
  );
}
