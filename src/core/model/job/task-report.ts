import type { Rule } from "../../../lib/rules/rules.ts";
import { limits } from "../../../limits.ts";
import { TASK_ID_RULE } from "../ids.ts";

/** The number of tasks in one request: listed, accepted or reported. */
export const TASKS_AT_ONCE_RULE = {
  minimum: 1,
  maximum: limits.offeredPageMax,
  multipleOf: 1,
} as const satisfies Rule;

/** For a list of tasks, or of reports. */
export const TASK_LIST_RULE = {
  minItems: 1,
  maxItems: limits.offeredPageMax,
} as const satisfies Rule;

const TIME: Rule = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER, multipleOf: 1 };

/** Rules for reports of pull clusters about a task. */
export const REPORT_RULES = {
  id: TASK_ID_RULE,
  attempt: { minimum: 0, maximum: 2 ** 32 - 1, multipleOf: 1 },
  state: { enum: ["running", "succeeded", "failed", "returned"] },
  startedAtMs: TIME,
  endedAtMs: TIME,
  exitCode: { minimum: 0, maximum: 255, multipleOf: 1 },
  signal: { pattern: "^SIG[A-Z0-9+]{1,12}$", hint: "the name of a signal, like SIGKILL" },
} as const satisfies Readonly<Record<string, Rule>>;
