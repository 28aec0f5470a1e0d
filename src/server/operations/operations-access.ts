import { authorise, type Permission, type Resource } from "../../core/access/authorise.ts";
import { nameOf, type Principal } from "../../core/access/principal.ts";
import { limits } from "../../limits.ts";
import { type Look, NEEDS } from "./needs.ts";
import type { CallerOperations, Operations, OperationsAccess } from "./operations.ts";

type Name = keyof Operations;

/** Operations that throw their errors; all others return a promise, which rejects. */
const THROWING: Readonly<
  Record<
    { [One in Name]: ReturnType<Operations[One]> extends Promise<unknown> ? never : One }[Name],
    true
  >
> = {
  watch: true,
  follow: true,
  readOutput: true,
  readOutputStart: true,
  backup: true,
  isReady: true,
};

/** Makes each operation check its permission first. */
export function guardOperations(operations: CallerOperations, look: Look): OperationsAccess {
  const known = new WeakMap<Principal, Operations>();
  // Doors make a new principal for each message with a credential: most are equal to one of a few.
  const equal = new Map<string, Operations>();
  const prepare = (principal: Principal): Operations => {
    const key = JSON.stringify(principal);
    const before = equal.get(key);
    if (before !== undefined) return before;
    const guarded = guardFor(principal, operations, look);
    equal.set(key, guarded);
    const [oldest] = equal.keys();
    if (equal.size > limits.knownPrincipalsMax && oldest !== undefined) equal.delete(oldest);
    return guarded;
  };
  return {
    as(principal) {
      let guarded = known.get(principal);
      if (guarded === undefined) known.set(principal, (guarded = prepare(principal)));
      return guarded;
    },
  };
}

/** The table and the caller know the types of the arguments; this function does not. */
type AnyNeed =
  | Permission
  | {
      readonly permission: Permission;
      readonly about: (look: Look, ...args: readonly unknown[]) => Resource;
    };
type Run = (...args: readonly unknown[]) => unknown;

function guardFor(principal: Principal, operations: CallerOperations, look: Look): Operations {
  const caller = { name: nameOf(principal) };
  const check = (need: AnyNeed, args: readonly unknown[]): void => {
    if (typeof need === "string") authorise(principal, need);
    else authorise(principal, need.permission, () => need.about(look, ...args));
  };
  const guarded: Partial<Record<Name, Run>> = {};
  for (const name of Object.keys(NEEDS) as Name[]) {
    const need = NEEDS[name] as AnyNeed;
    const run = operations[name] as Run;
    guarded[name] = (...args) => {
      try {
        check(need, args);
      } catch (error) {
        if (name in THROWING) throw error;
        return Promise.reject(error);
      }
      return run(caller, ...args);
    };
  }
  return guarded as unknown as Operations;
}
