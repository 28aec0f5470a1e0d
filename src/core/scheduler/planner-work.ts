import type { TreeWork } from "../../lib/collections/ordered-tree.ts";

/**
 * How much the planner looks at, for tests and metrics. For one event none of it may grow with the
 * number of nodes, groups, request classes or jobs that the event does not concern.
 */
export interface PlannerWork extends TreeWork {
  nodesLookedAt: number;
  /** Parked lanes and classes that were compared with free capacity. */
  classesAsked: number;
  /** Pools that were asked whether they hold a node that changed. */
  poolsAsked: number;
  /** Groups whose share was computed. */
  groupsRanked: number;
}

export const noWork = (): PlannerWork => ({
  nodesLookedAt: 0,
  classesAsked: 0,
  poolsAsked: 0,
  groupsRanked: 0,
  treeSteps: 0,
});
