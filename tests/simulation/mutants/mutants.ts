import { CORE_MUTANTS } from "./core-mutants.ts";
import type { Mutant } from "./mutant.ts";
import { PLACEMENT_MUTANTS } from "./placement-mutants.ts";
import { SHELL_MUTANTS } from "./shell-mutants.ts";

/** A checker that lets its mutants live proves nothing. */
export const MUTANTS: readonly Mutant[] = [...SHELL_MUTANTS, ...CORE_MUTANTS, ...PLACEMENT_MUTANTS];
