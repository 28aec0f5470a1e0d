import type { FactEntry } from "../../core/model/node/node-facts.ts";
import type { Machine } from "./machine.ts";

/** A program that prints its version, and how to parse that. */
export interface KnownProgram {
  readonly program: string;
  readonly args: readonly string[];
  /** The version, from the program's output; undefined: it is not the program that its name suggests. */
  readonly read: (output: string) => ProgramVersion | undefined;
}

export interface ProgramVersion {
  readonly name: string;
  readonly version: string;
}

/** One program at a time, because tasks run meanwhile. A program with two names ("mpirun", "mpiexec") is listed once. */
export async function findPrograms(
  machine: Machine,
  known: readonly KnownProgram[],
): Promise<readonly FactEntry[]> {
  const entries = new Map<string, FactEntry>();
  for (const { program, args, read } of known) {
    const path = await machine.find(program);
    const output = path === undefined ? undefined : await machine.run(path, args);
    const found = output === undefined ? undefined : read(output);
    if (path === undefined || found === undefined) continue;
    const key = `${found.name} ${found.version}`;
    if (!entries.has(key)) entries.set(key, { ...found, path });
  }
  return [...entries.values()];
}

/** The first group of a pattern. */
export const versionBy =
  (name: string, pattern: RegExp) =>
  (output: string): ProgramVersion | undefined => {
    const version = pattern.exec(output)?.[1];
    return version === undefined ? undefined : { name, version };
  };
