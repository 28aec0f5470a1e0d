import { invalid } from "../../../lib/errors.ts";
import type { Rule } from "../../../lib/rules/rules.ts";
import { limits } from "../../../limits.ts";
import type { Texts } from "./job.ts";
import { isReservedVariable, isVariableName, VARIABLE_NAME_RULE } from "./variable-names.ts";

/** The kernel would cut an argument or a variable at a NUL byte. */
export const NO_NUL: Rule = { pattern: "^[^\\u0000]*$" };

export const ENV_RULE = {
  maxProperties: limits.envVariablesMax,
  propertyNames: VARIABLE_NAME_RULE,
  additionalProperties: NO_NUL,
} as const satisfies Rule;

export const COMMAND_RULE = {
  minItems: 1,
  maxItems: limits.argumentsMax,
  items: NO_NUL,
  prefixItems: [{ ...NO_NUL, minLength: 1 }],
  examples: [["sleep", "1"]],
} as const satisfies Rule;

export const NO_TEXTS: Texts = Object.freeze({});

/** The variables of a job, or of one of its containers. */
export function toEnv(env: Texts | undefined, field: string): Texts {
  if (env === undefined) return NO_TEXTS;
  const names = Object.keys(env);
  if (names.length === 0) return NO_TEXTS;
  const { maxProperties } = ENV_RULE;
  if (names.length > maxProperties) {
    throw invalid(field, `at most ${maxProperties} variables, not ${names.length}`);
  }
  for (const name of names) {
    if (isReservedVariable(name)) {
      throw invalid(`${field}.${name}`, "BUSBAR_ names are set by Busbar");
    }
    if (!isVariableName(name)) {
      throw invalid(field, `${JSON.stringify(name.slice(0, 40))} is not a variable's name`);
    }
    checkExact(env[name] ?? "", `${field}.${name}`);
  }
  return env;
}

/** The program and its arguments, of a job or of one of its containers. */
export function toArgv(command: readonly string[] | undefined, field: string): readonly string[] {
  const program = command?.[0];
  if (command === undefined || program === undefined || program === "") {
    throw invalid(field, 'must name a program to run, like ["sleep", "1"]');
  }
  const { maxItems } = COMMAND_RULE;
  if (command.length > maxItems) {
    throw invalid(field, `at most ${maxItems} arguments, not ${command.length}`);
  }
  // Builds field names for errors only: this runs for every submitted job.
  for (let at = 0; at < command.length; at++) {
    const argument = command[at] ?? "";
    if (!isExact(argument)) checkExact(argument, `${field}[${at}]`);
  }
  // A copy has no spare capacity: arrays that were filled one by one reserve space for seventeen.
  return command.slice();
}

/** UTF-8 cannot encode half a surrogate pair, so a task would receive another text. */
export const isExact = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

export function checkExact(text: string, field: string): string {
  if (text.includes("\0")) throw invalid(field, "must not contain a NUL character");
  if (!text.isWellFormed()) throw invalid(field, "must not contain half a surrogate pair");
  return text;
}

/** The approximate size of variables and arguments together. */
export function charsOf(argv: readonly string[], env: Texts): number {
  let size = 0;
  for (const part of argv) size += part.length + 1;
  for (const name in env) size += name.length + (env[name]?.length ?? 0) + 2;
  return size;
}
