import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { seedsFrom, simulateSeeds } from "../seeds.ts";
import type { Fault } from "../worker.ts";
import { applyEdits } from "./edit.ts";
import type { Mutant } from "./mutant.ts";
import { MUTANTS } from "./mutants.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
/** A mutant that lives longer than this lacks a world in which it matters. */
const SEEDS_MAX = 400;

/** The seed that caught each mutant last. Seeds change with every draw: a note is where to begin. */
export const NOTES = new URL("caught-at.json", import.meta.url);
export const notedSeeds = (): Readonly<Record<string, number>> =>
  JSON.parse(readFileSync(NOTES, "utf8")) as Readonly<Record<string, number>>;

export function findMutant(name: string): Mutant {
  const mutant = MUTANTS.find((one) => one.name === name);
  if (mutant === undefined) throw new Error(`there is no mutant ${name}`);
  return mutant;
}

/** What a thread needs to simulate with it; throws when an edit no longer finds its place. */
export function faultOf({ name, caughtBy, seam, edits = [] }: Mutant): Fault {
  const sources = new Map<string, string>();
  for (const [file, own] of Map.groupBy(edits, (edit) => edit.file)) {
    try {
      sources.set(file, applyEdits(readFileSync(join(root, file), "utf8"), own));
    } catch (cause) {
      throw new Error(`mutant ${name} is out of date`, { cause });
    }
  }
  return { caughtBy, seams: seam === undefined ? {} : { [seam]: true }, sources };
}

/** The first of the seeds that catches the mutant (a seed to begin with, then from 1); undefined: it lives. */
export async function catchMutant(mutant: Mutant, firstSeed?: number): Promise<number | undefined> {
  let caught: number | undefined;
  const seeds = [...[firstSeed ?? []].flat(), ...seedsFrom(1, SEEDS_MAX)];
  const options = { seeds, workers: 1, fault: faultOf(mutant) };
  await simulateSeeds(options, ({ seed, failure }) => {
    if (failure?.checker === mutant.caughtBy) caught ??= seed;
  });
  return caught;
}
