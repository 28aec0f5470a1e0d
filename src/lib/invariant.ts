/** For bugs in Busbar: a broken invariant crashes the process, because to continue could only make it worse. */
export function invariant(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${message}`);
}

/** Ends an exhaustive switch; does not compile while a case is missing. */
export function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
