import { checkRule } from "../../../lib/rules/check-rule.ts";
import { invalid, unprocessable } from "../../../lib/errors.ts";
import { nearest } from "../../../lib/nearest.ts";
import type { Rule } from "../../../lib/rules/rules.ts";
import { limits } from "../../../limits.ts";
import type { JobId } from "../ids.ts";

/** The condition on the jobs depended on. */
export type DependencyKind = "afterok" | "afterany" | "afternotok" | "after";

/** One dependency of a job, as written; all must be met. */
export type Dependency =
  | {
      readonly kind: DependencyKind;
      /** Ids and names. */
      readonly on: readonly string[];
      /** Absent: all of them. */
      readonly atLeast?: number;
    }
  | { readonly kind: "singleton"; readonly name: string };

/** As doors pass it on. */
export interface DependencyInput {
  readonly kind?: string | undefined;
  readonly on?: readonly string[] | undefined;
  readonly atLeast?: number | undefined;
  readonly name?: string | undefined;
}

export type Wanted = "ok" | "any" | "not-ok" | "started";

/** A job, or one task of an array. */
export interface DependencyTarget {
  readonly jobId: JobId;
  readonly index?: number;
}

/**
 * The same with resolved names: the conditions that still keep a job out of the queue. It shrinks when
 * jobs that it names are removed, and is dropped when the job is released.
 */
export type Clause = TargetClause | { readonly kind: "singleton"; readonly name: string };

export interface TargetClause {
  readonly kind: "jobs";
  readonly when: Wanted;
  readonly atLeast: number;
  readonly of: readonly DependencyTarget[];
}

export const WANTED: Readonly<Record<DependencyKind, Wanted>> = {
  afterok: "ok",
  afterany: "any",
  afternotok: "not-ok",
  after: "started",
};

export const DEPENDENCY_KINDS = [
  ...(Object.keys(WANTED) as DependencyKind[]),
  "singleton",
] as const;

/** A name and the index of a task in it. */
const REFERENCE_LENGTH_MAX = limits.nameLengthMax + ".999999999".length;
export const REFERENCE_RULE = {
  minLength: 1,
  maxLength: REFERENCE_LENGTH_MAX,
  pattern: "^[^\\u0000]+$",
  hint: "a text without NUL characters",
} as const satisfies Rule;

/** Validates everything that does not depend on other jobs. An empty list means none. */
export function toDependencies(
  inputs: readonly DependencyInput[] | undefined,
): readonly Dependency[] | undefined {
  if (inputs === undefined || inputs.length === 0) return undefined;
  if (inputs.length > limits.dependenciesPerJobMax) throw tooMany("dependsOn");
  const dependencies = inputs.map((input, at) => toDependency(input, `dependsOn[${at}]`));
  let targets = 0;
  const singletons = new Set<string>();
  for (const [at, one] of dependencies.entries()) {
    if (one.kind !== "singleton") {
      targets += one.on.length;
      continue;
    }
    if (singletons.has(one.name)) throw unprocessable(`dependsOn[${at}].name`, "appears twice");
    singletons.add(one.name);
  }
  if (targets > limits.dependenciesPerJobMax) throw tooMany("dependsOn").as("unprocessable");
  return dependencies;
}

const tooMany = (field: string) =>
  invalid(field, `at most ${limits.dependenciesPerJobMax} jobs to wait for`);

function toDependency(input: DependencyInput, field: string): Dependency {
  const kind = toKind(input.kind ?? "afterok", `${field}.kind`);
  return kind === "singleton" ? toSingleton(input, field) : toAfter(kind, input, field);
}

function toKind(text: string, field: string): (typeof DEPENDENCY_KINDS)[number] {
  const kind = DEPENDENCY_KINDS.find((known) => known === text);
  if (kind !== undefined) return kind;
  const meant = nearest(text, DEPENDENCY_KINDS);
  const hint =
    meant === undefined ? `use ${DEPENDENCY_KINDS.join(", ")}` : `did you mean ${meant}?`;
  throw invalid(field, `${JSON.stringify(text.slice(0, 40))} is not a kind of dependency; ${hint}`);
}

function toSingleton({ on, atLeast, name }: DependencyInput, field: string): Dependency {
  if (on !== undefined) {
    throw invalid(`${field}.on`, "a singleton names no jobs; it has a name of its own");
  }
  if (atLeast !== undefined) throw invalid(`${field}.atLeast`, "a singleton has none");
  return { kind: "singleton", name: reference(name ?? "", `${field}.name`) };
}

function toAfter(
  kind: DependencyKind,
  { on = [], atLeast, name }: DependencyInput,
  field: string,
): Dependency {
  if (name !== undefined) throw invalid(`${field}.name`, "only a singleton has a name; use on");
  if (on.length === 0) throw invalid(`${field}.on`, "must name at least one job");
  if (on.length > limits.dependenciesPerJobMax) throw tooMany(`${field}.on`);
  for (const [at, text] of on.entries()) reference(text, `${field}.on[${at}]`);
  if (atLeast === undefined) return { kind, on: on.slice() };
  if (!Number.isInteger(atLeast) || atLeast < 1 || atLeast > on.length) {
    const refuse = atLeast > on.length ? unprocessable : invalid;
    throw refuse(
      `${field}.atLeast`,
      `must be a whole number from 1 to ${on.length}, not ${atLeast}`,
    );
  }
  return { kind, on: on.slice(), atLeast };
}

function reference(text: string, field: string): string {
  return checkRule(text, field, REFERENCE_RULE);
}
