import { unreachable } from "../../lib/invariant.ts";
import type { ExpressionValue } from "./expression.ts";
import { parsePriorities, type Priority, type PriorityStep } from "./priorities.ts";
import type { Candidate, Dropped, SelectContext, Strategy } from "./strategy.ts";

/** A candidate with its calculated values. Lives for one choice: the reported state never changes. */
interface Entry {
  readonly candidate: Candidate;
  readonly calculated: ReadonlyMap<string, ExpressionValue>;
}

/**
 * Chooses by rules: filters, sums and orders over the reported state of clusters and the parameters of
 * the job. Names are looked up among calculated values, then in the cluster's state, then in the job's
 * parameters.
 */
export const constraint: Strategy = {
  name: "constraint",
  prepare(options) {
    const priorities = parsePriorities(options["priorities"], "options.priorities");
    return (candidates, context) => {
      const dropped: Dropped[] = [];
      for (const priority of priorities) {
        const ranked = follow(priority, candidates, context, dropped);
        if (ranked.length > 0) return { ranked, dropped };
      }
      return { ranked: [], dropped };
    };
  },
};

function follow(
  { priority, steps }: Priority,
  candidates: readonly Candidate[],
  context: SelectContext,
  dropped: Dropped[],
): readonly Candidate[] {
  let entries: readonly Entry[] = candidates.map((candidate) => ({
    candidate,
    calculated: new Map<string, ExpressionValue>(),
  }));
  const drop = ({ candidate: { name } }: Entry, expression: string, problem: string): void => {
    dropped.push({ name, reason: { priority, expression, problem } });
  };
  for (const step of steps) entries = take(step, entries, context, drop);
  return entries.map(({ candidate }) => candidate);
}

function take(
  step: PriorityStep,
  entries: readonly Entry[],
  context: SelectContext,
  drop: (entry: Entry, expression: string, problem: string) => void,
): readonly Entry[] {
  switch (step.kind) {
    case "filter":
      return entries.filter((entry) => {
        const outcome = step.expression.evaluate(lookupIn(entry, context));
        if (outcome.ok && outcome.value === true) return true;
        const why = outcome.ok ? `is ${JSON.stringify(outcome.value)}` : outcome.problem;
        drop(entry, step.expression.text, why);
        return false;
      });
    case "calc":
      return entries.map((entry) => {
        const outcome = step.expression.evaluate(lookupIn(entry, context));
        // A failed calculation has no value; a filter that uses it reports that.
        if (!outcome.ok) return entry;
        const calculated = new Map(entry.calculated).set(step.name, outcome.value);
        return { ...entry, calculated };
      });
    case "sort":
      return sorted(step, entries, context);
    case "select":
      return chosenFirst(step.which, entries, context);
    default:
      return unreachable(step);
  }
}

function lookupIn({ candidate, calculated }: Entry, { parameters }: SelectContext) {
  return (name: string): ExpressionValue | undefined => {
    if (calculated.has(name)) return calculated.get(name);
    if (Object.hasOwn(candidate.state, name)) return candidate.state[name];
    return Object.hasOwn(parameters, name) ? parameters[name] : undefined;
  };
}

/** Numbers before texts before booleans, and entries without a value last, in either direction. */
const KINDS = ["number", "string", "boolean", "undefined"];

function sorted(
  { expression, sign }: PriorityStep & { kind: "sort" },
  entries: readonly Entry[],
  context: SelectContext,
): readonly Entry[] {
  return entries
    .map((entry) => {
      const outcome = expression.evaluate(lookupIn(entry, context));
      return { entry, value: outcome.ok ? outcome.value : undefined };
    })
    .sort((one, other) => {
      const [a, b] = [one.value, other.value];
      const kinds = KINDS.indexOf(typeof a) - KINDS.indexOf(typeof b);
      if (kinds !== 0 || a === undefined || b === undefined || a === b) return kinds;
      return a < b ? -sign : sign;
    })
    .map(({ entry }) => entry);
}

/** Keeps all, so that a dry run shows them; the chosen one is first. */
function chosenFirst(
  which: "first" | "last" | "random",
  entries: readonly Entry[],
  { random }: SelectContext,
): readonly Entry[] {
  if (which === "first" || entries.length === 0) return entries;
  const last = entries.length - 1;
  const at = which === "last" ? last : Math.min(last, Math.floor(random() * entries.length));
  const chosen = entries[at];
  return chosen === undefined ? entries : [chosen, ...entries.toSpliced(at, 1)];
}
