import { checkRule } from "../../lib/rules/check-rule.ts";
import { AppError, invalid } from "../../lib/errors.ts";
import type { Rule } from "../../lib/rules/rules.ts";
import { limits } from "../../limits.ts";
import { checkText, CONTROL_SET, visible } from "../model/texts.ts";
import { isRecord } from "./metadata.ts";
import { mustBe, quote } from "./vertex-table.ts";

export type StateValue = number | string | boolean;

/** The state that a cluster reports of itself, as selection sees it. */
export type StateValues = Readonly<Record<string, StateValue>>;

/** The same, with the time of the last report of each key. */
export type ClusterState = Readonly<
  Record<string, { readonly value: StateValue; readonly setAtMs: number }>
>;

export const NO_STATE: ClusterState = Object.freeze({});

/** Keys have no brackets: an expression could not tell them from its own. */
const KEY_RULE = {
  minLength: 1,
  maxLength: limits.nameLengthMax,
  pattern: `^(?!__proto__$)[^\\[\\]${CONTROL_SET}]+$`,
} as const satisfies Rule;

/** Values by key: the state that a cluster reports, and the parameters of selections. */
export const VALUES_RULE = {
  maxProperties: limits.stateKeysMax,
  propertyNames: KEY_RULE,
  additionalProperties: { maxLength: limits.stateTextLengthMax },
} as const satisfies Rule;

export const COUNTERS_RULE = { maxItems: limits.countersMax } as const satisfies Rule;
export const COUNTER_RULES = {
  key: KEY_RULE,
  by: { enum: ["nodes", "slots", "jobs"] },
} as const satisfies Readonly<Record<string, Rule>>;

/** Merges a reported patch into the state: null removes a key, keys that the patch lacks stay. */
export function mergeState(state: ClusterState, patch: unknown, nowMs: number): ClusterState {
  if (patch === null) return state;
  if (!isRecord(patch)) throw invalid("state", mustBe("an object of keys and values", patch));
  const merged = new Map(Object.entries(state));
  for (const [key, value] of Object.entries(patch)) {
    checkStateKey(key, "state");
    if (value === null) merged.delete(key);
    else merged.set(key, { value: checkValue(value, `state.${key}`), setAtMs: nowMs });
  }
  if (merged.size > limits.stateKeysMax) {
    const problem = `at most ${limits.stateKeysMax} keys, not ${merged.size}`;
    throw new AppError("exhausted", problem, { field: "state" });
  }
  return Object.fromEntries(merged);
}

function checkStateKey(key: string, field: string): void {
  checkText(key, field, KEY_RULE.maxLength);
  if (/[[\]]/.test(key)) throw invalid(field, `${quote(key)} is not a key: it has brackets`);
}

function checkValue(value: unknown, field: string): StateValue {
  if (typeof value === "boolean") return value;
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw invalid(field, `must be a finite number, not ${value}`);
    return value;
  }
  if (typeof value !== "string") {
    throw invalid(field, mustBe("a number, a text, true or false", value));
  }
  const text = checkRule(value, field, VALUES_RULE.additionalProperties);
  return visible(text, text.length);
}

/** Numbers, strings and booleans by name: the parameters with which a job selects a cluster. */
export function readValues(value: unknown, field: string): StateValues {
  if (!isRecord(value)) throw invalid(field, mustBe("an object of names and values", value));
  const entries = Object.entries(value);
  const { maxProperties } = VALUES_RULE;
  if (entries.length > maxProperties) {
    throw invalid(field, `at most ${maxProperties} names, not ${entries.length}`);
  }
  return Object.fromEntries(
    entries.map(([name, each]) => {
      checkStateKey(name, field);
      return [name, checkValue(each, `${field}.${name}`)];
    }),
  );
}

export const valuesOf = (state: ClusterState): StateValues =>
  Object.fromEntries(Object.entries(state).map(([key, { value }]) => [key, value]));

/** The time since a key was last reported; undefined: it never was. */
export function ageOf(state: ClusterState, key: string, nowMs: number): number | undefined {
  const entry = Object.hasOwn(state, key) ? state[key] : undefined;
  return entry === undefined ? undefined : Math.max(0, nowMs - entry.setAtMs);
}

/** A key that counts down as jobs are assigned, until the cluster reports it again. */
export interface StateCounter {
  readonly key: string;
  /** By the job's nodes, by its slots, or by 1. */
  readonly by: "nodes" | "slots" | "jobs";
}

export function parseCounters(value: unknown): readonly StateCounter[] {
  if (!Array.isArray(value)) throw invalid("counters", mustBe("a list", value));
  if (value.length > COUNTERS_RULE.maxItems) {
    throw invalid("counters", `at most ${COUNTERS_RULE.maxItems}, not ${value.length}`);
  }
  return (value as unknown[]).map((counter, at) => {
    const field = `counters[${at}]`;
    if (!isRecord(counter)) throw invalid(field, mustBe("an object", counter));
    const { key, by } = counter;
    if (typeof key !== "string") throw invalid(`${field}.key`, mustBe("a text", key));
    checkStateKey(key, `${field}.key`);
    if (by !== "nodes" && by !== "slots" && by !== "jobs") {
      throw invalid(`${field}.by`, "must be nodes, slots or jobs");
    }
    return { key, by };
  });
}

/**
 * The state after a job was assigned. Values never go below 0; keys that were never reported, or
 * are not numbers, stay as they are. The age of a key does not change: only a report of the cluster
 * renews it.
 */
export function countDown(
  state: ClusterState,
  counters: readonly StateCounter[],
  job: { readonly nodes: number; readonly slots: number },
): ClusterState {
  const next = new Map(Object.entries(state));
  for (const { key, by } of counters) {
    const entry = next.get(key);
    if (entry === undefined || typeof entry.value !== "number") continue;
    const amount = by === "jobs" ? 1 : job[by];
    next.set(key, { ...entry, value: Math.max(0, entry.value - amount) });
  }
  return Object.fromEntries(next);
}
