import type { Rule } from "../../../lib/rules.ts";

/** Of names that a task's environment may have, in every shell, and that Busbar does not set itself. */
export const VARIABLE_NAME_RULE = {
  pattern: "^(?!BUSBAR_|__proto__$)[A-Za-z_][A-Za-z0-9_]*$",
} as const satisfies Rule;

/** Names that a task's environment may have, in every shell. */
export const isVariableName = (name: string): boolean =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && name !== "__proto__";

/** Busbar itself sets these. */
export const isReservedVariable = (name: string): boolean => name.startsWith("BUSBAR_");
