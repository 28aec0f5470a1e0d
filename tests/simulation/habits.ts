import type { Seeded } from "./random.ts";

/** The habits of the clients of one world. Worlds differ, so that rare events in one are common in another. */
export interface Habits {
  /** The share of jobs that request a part of a graph: only these may go to any cluster. */
  readonly requests: number;
  /** Of those that name a node, the share that waits until its cluster reports free nodes. */
  readonly waitingForFree: number;
  /** The share of client actions that concern clusters. */
  readonly clusterCare: number;
  /** How often at the most a pull cluster looks for work. */
  readonly receiptsMax: number;
  /** The share of those that name another cluster than the one whose tasks they list. */
  readonly wrongNames: number;
  /** Large arrays of tasks that take a few milliseconds: nodes fetch them ahead. */
  readonly isHasty: boolean;
}

const OF_NODES: Habits = {
  requests: 0.2,
  waitingForFree: 0.3,
  clusterCare: 0.1,
  receiptsMax: 8,
  wrongNames: 0.1,
  isHasty: false,
};

const OF_CLUSTERS: Habits = {
  requests: 0.6,
  waitingForFree: 0.7,
  clusterCare: 0.25,
  receiptsMax: 40,
  wrongNames: 0.3,
  isHasty: false,
};

/** `isHasty` is drawn separately, so that the other worlds stay the same. */
export const drawHabits = (random: Seeded, isHasty: boolean): Habits => ({
  ...(random.chance(0.5) ? OF_CLUSTERS : OF_NODES),
  isHasty,
});
