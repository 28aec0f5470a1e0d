import type { Rule } from "../../lib/rules/rules.ts";
import { limits } from "../../limits.ts";
import { valueRule } from "./texts.ts";
import type { GroupId } from "./ids.ts";
import { groupId } from "./ids.ts";

/** Where jobs are queued together. Groups share the resources in proportion to their weights. */
export interface Group {
  readonly id: GroupId;
  readonly weight: number;
  readonly owner: string;
  /** Tasks assigned, running or stopping at once; undefined: no limit. */
  readonly runningTasksMax: number | undefined;
  /** Tasks pending or waiting; the server rejects a submission beyond it. undefined: no limit. */
  readonly queuedTasksMax: number | undefined;
  /** Who paused it: then none of its tasks is placed; absent: it is not paused. */
  readonly pausedBy?: string;
  /** Who last changed it; absent: nobody, or it was not recorded. */
  readonly changedBy?: string;
}

/** 0: no limit. */
const LIMIT: Rule = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER, multipleOf: 1 };

/** For the fields of a group that callers set. */
export const GROUP_RULES = {
  weight: { exclusiveMinimum: 0, maximum: 1_000_000 },
  owner: valueRule(limits.nameLengthMax),
  runningTasksMax: LIMIT,
  queuedTasksMax: LIMIT,
} as const satisfies Readonly<Record<string, Rule>>;

export const DEFAULT_GROUP = groupId("default");

/** A group that was never configured: its first job creates it. */
export const freshGroup = (id: GroupId): Group => ({
  id,
  weight: 1,
  owner: "",
  runningTasksMax: undefined,
  queuedTasksMax: undefined,
});
