import type { Rule } from "../../lib/rules.ts";
import type { GroupId } from "./ids.ts";
import { groupId } from "./ids.ts";

/** Where jobs are queued together. Groups share the resources in proportion to their weights. */
export interface Group {
  readonly id: GroupId;
  readonly weight: number;
  readonly owner: string;
  /** Tasks assigned, running or stopping at once; undefined: no limit. */
  readonly runningTasksMax: number | undefined;
  /** Tasks pending or waiting; a submission beyond it is refused. undefined: no limit. */
  readonly queuedTasksMax: number | undefined;
  /** Who last changed it; absent: nobody, or it was not noted. */
  readonly changedBy?: string;
}

/** Of a group's weight. */
export const WEIGHT_RULE = { exclusiveMinimum: 0, maximum: 1_000_000 } as const satisfies Rule;

export const DEFAULT_GROUP = groupId("default");

/** A group nobody has configured: made by its first job. */
export const freshGroup = (id: GroupId): Group => ({
  id,
  weight: 1,
  owner: "",
  runningTasksMax: undefined,
  queuedTasksMax: undefined,
});
