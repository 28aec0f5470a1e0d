import { invalid, unprocessable } from "../../../../lib/errors.ts";
import { limits } from "../../../../limits.ts";
import { type ArrayLimits, type IndexRanges, parseArray } from "../array-range.ts";
import { NO_NUL, checkExact, isExact } from "../env.ts";
import type { Rule } from "../../../../lib/rules/rules.ts";

export const ENTRIES_RULE = {
  maxItems: limits.arrayTasksMax,
  items: NO_NUL,
} as const satisfies Rule;

export const ARGS_RULE = { maxItems: limits.argumentsMax, items: NO_NUL } as const satisfies Rule;

interface ArrayInput {
  readonly array?: string | undefined;
  readonly entries?: readonly string[] | undefined;
}

/** The tasks of a job: those of its array, or one for each entry. */
export function toArray(
  { array, entries }: ArrayInput,
  bounds: ArrayLimits,
): { readonly array: IndexRanges | undefined; readonly tasksAtOnce: number | undefined } {
  if (array !== undefined) return parseArray(array, "array", bounds);
  if (entries === undefined || entries.length === 0) {
    return { array: undefined, tasksAtOnce: undefined };
  }
  return { array: [{ first: 0, last: entries.length - 1, step: 1 }], tasksAtOnce: undefined };
}

/** The texts of tasks by their indexes: one row holds them all, so their total is bounded. */
export function toEntries(
  { entries }: ArrayInput,
  array: IndexRanges | undefined,
): readonly string[] | undefined {
  if (entries === undefined || entries.length === 0) return undefined;
  const { maxItems } = ENTRIES_RULE;
  if (entries.length > maxItems)
    throw invalid("entries", `at most ${maxItems}, not ${entries.length}`);
  const last = array?.at(-1)?.last ?? 0;
  if (last >= entries.length) {
    throw unprocessable(
      "array",
      `has index ${last}; there are ${entries.length} entries, from 0 on`,
    );
  }
  let chars = 0;
  for (const [at, entry] of entries.entries()) {
    chars += entry.length + 1;
    if (!isExact(entry)) checkExact(entry, `entries[${at}]`);
  }
  if (chars > limits.entriesCharsMax) {
    throw unprocessable(
      "entries",
      `have ${chars} characters in all; at most ${limits.entriesCharsMax}: submit several jobs, or ` +
        "pass names of files instead",
    );
  }
  return entries.slice();
}

/** Arguments of a script; undefined: none. */
export function toScriptArgs(
  args: readonly string[] | undefined,
  hasScript: boolean,
): readonly string[] | undefined {
  if (args === undefined || args.length === 0) return undefined;
  if (!hasScript) throw unprocessable("args", "are for scripts; write the arguments into command");
  const { maxItems } = ARGS_RULE;
  if (args.length > maxItems) throw invalid("args", `at most ${maxItems}, not ${args.length}`);
  return args.map((arg, at) => checkExact(arg, `args[${at}]`));
}
