import type { StateValues } from "../graph/cluster-state.ts";

/** A cluster that could accept a job. */
export interface Candidate {
  readonly name: string;
  /** Its reported state. */
  readonly state: StateValues;
  /** Assigned jobs that have not ended. */
  readonly jobs: number;
  /** The used part of it, 0 … 1; undefined: not known. */
  readonly usedShare: number | undefined;
  /** How many slots of the job would fit there now; undefined: not known. */
  readonly slots: number | undefined;
}

/** What a choice may depend on besides the candidates. */
export interface SelectContext {
  /** The job's own parameters, for expressions. */
  readonly parameters: StateValues;
  /** From 0 up to, not including, 1. */
  readonly random: () => number;
  /** The number of earlier choices. */
  readonly turn: number;
}

export interface Selection {
  /** The remaining candidates, the chosen one first; empty: none is good enough. */
  readonly ranked: readonly Candidate[];
  /** The others, and why. */
  readonly dropped: readonly Dropped[];
}

export interface Dropped {
  readonly name: string;
  readonly reason: DropReason;
}

/** The rule that leaves a cluster out. */
export interface DropReason {
  readonly priority: number;
  readonly expression: string;
  /** Its result, or why it has no value. */
  readonly problem: string;
}

export type Select = (candidates: readonly Candidate[], context: SelectContext) => Selection;

/** A way to choose between clusters that all could accept a job. Pure. */
export interface Strategy {
  readonly name: string;
  /** Validates the options once, before any choice. */
  prepare(options: Readonly<Record<string, unknown>>): Select;
}

type Key = number | string | undefined;

/**
 * A strategy that ranks by numbers, smallest first; each number breaks ties of those before, and names
 * break the last ties, so that the order of candidates never matters. Unknown values come last.
 */
export function rankBy(
  name: string,
  keysOf: (candidate: Candidate) => readonly (number | undefined)[],
): Strategy {
  const select: Select = (candidates) => ({ ranked: sortedBy(candidates, keysOf), dropped: [] });
  return { name, prepare: () => select };
}

export function sortedBy(
  candidates: readonly Candidate[],
  keysOf: (candidate: Candidate) => readonly (number | undefined)[],
): readonly Candidate[] {
  return candidates
    .map((candidate) => ({ candidate, keys: [...keysOf(candidate), candidate.name] }))
    .sort((one, other) => compareKeys(one.keys, other.keys))
    .map(({ candidate }) => candidate);
}

function compareKeys(one: readonly Key[], other: readonly Key[]): number {
  for (let at = 0; at < one.length; at++) {
    const [a, b] = [one[at], other[at]];
    if (a === b) continue;
    if (a === undefined || b === undefined) return a === undefined ? 1 : -1;
    return a < b ? -1 : 1;
  }
  return 0;
}

const knownByName = new WeakMap<readonly Candidate[], readonly Candidate[]>();

/** Remembered with the list: the scheduler passes the same list for each of many jobs. */
export function byName(candidates: readonly Candidate[]): readonly Candidate[] {
  if (candidates.length < 2) return candidates;
  let sorted = knownByName.get(candidates);
  if (sorted === undefined) {
    sorted = [...candidates].sort((one, other) => (one.name < other.name ? -1 : 1));
    knownByName.set(candidates, sorted);
  }
  return sorted;
}
