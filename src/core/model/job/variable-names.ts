import type { Rule } from "../../../lib/rules/rules.ts";

/**
 * Names that a task's environment may have, in every shell, and that Busbar does not set itself. BUSBAR_ORIGIN_ names describe the job on
 * the Busbar from which it comes, which writes them into the spec.
 */
export const VARIABLE_NAME_RULE = {
  pattern: "^(?!BUSBAR_(?!ORIGIN_)|__proto__$)[A-Za-z_][A-Za-z0-9_]*$",
} as const satisfies Rule;
const NAME = new RegExp(VARIABLE_NAME_RULE.pattern);

export const isVariableName = (name: string): boolean => NAME.test(name);

/** Busbar itself sets these. */
export const isReservedVariable = (name: string): boolean =>
  name.startsWith("BUSBAR_") && !name.startsWith("BUSBAR_ORIGIN_");
