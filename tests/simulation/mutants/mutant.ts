import type { CheckerName } from "../checkers.ts";
import type { Seams } from "../seams.ts";
import type { Edit } from "./edit.ts";

/** Breaks one promise on purpose: at a port of the simulation, or in the product's modules. */
export interface Mutant {
  readonly name: string;
  /** What is broken, in words. */
  readonly what: string;
  readonly caughtBy: CheckerName;
  readonly seam?: keyof Seams;
  readonly edits?: readonly Edit[];
}

export const atSeam = (name: keyof Seams, caughtBy: CheckerName, what: string): Mutant => ({
  name,
  what,
  caughtBy,
  seam: name,
});

export const edited = (
  name: string,
  caughtBy: CheckerName,
  what: string,
  ...edits: readonly Edit[]
): Mutant => ({ name, what, caughtBy, edits });

/** In `within` of a file below src, what is found becomes something else; "" removes it. */
export const swap = (file: string, within: string, find: string, replace: string): Edit => ({
  kind: "swap",
  file: `src/${file}`,
  within,
  find,
  replace,
});

/** The function does this instead of what it does. */
export const body = (file: string, within: string, replace: string): Edit => ({
  kind: "body",
  file: `src/${file}`,
  within,
  replace,
});

/** What a replacement needs and the module does not import yet, under a name of its own. */
export const withImport = (file: string, text: string): Edit => ({
  kind: "import",
  file: `src/${file}`,
  text,
});
