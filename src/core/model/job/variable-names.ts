/** Names that a task's environment may have, in every shell. */
export const isVariableName = (name: string): boolean =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && name !== "__proto__";

/** Busbar itself sets these. */
export const isReservedVariable = (name: string): boolean => name.startsWith("BUSBAR_");
