import { checkRule } from "../../../lib/rules/check-rule.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { DEFAULT_GROUP, freshGroup, GROUP_RULES } from "../../model/group.ts";
import { type GroupId, NO_REVISION } from "../../model/ids.ts";
import { checkValue } from "../../model/texts.ts";
import type { Change } from "../change.ts";
import type { CommandOf, Decision } from "../command.ts";
import type { State } from "../state.ts";
import { checkRevision } from "./if-revision.ts";
import { takenBack } from "./tasks/held.ts";

/** Creates the group, or changes the given fields. A limit of 0 means none. */
export function putGroup(state: State, command: CommandOf<"put-group">): Decision<undefined> {
  const { id, weight, owner, runningTasksMax, queuedTasksMax, by, isPaused } = command;
  const known = state.groups.get(id);
  checkRevision(`group ${id}`, known?.revision ?? NO_REVISION, command);
  if (known === undefined && state.groups.size >= limits.groupsMax) {
    throw new AppError("exhausted", `the limit of ${limits.groupsMax} groups is reached`);
  }
  if (weight !== undefined) checkRule(weight, "weight", GROUP_RULES.weight);
  if (owner !== undefined) checkValue(owner, "owner", limits.nameLengthMax);
  const { pausedBy, ...base } = known?.group ?? freshGroup(id);
  const isToPause = isPaused ?? pausedBy !== undefined;
  const row = {
    ...base,
    weight: weight ?? base.weight,
    owner: owner ?? base.owner,
    runningTasksMax: toLimit(runningTasksMax, base.runningTasksMax, "runningTasksMax"),
    queuedTasksMax: toLimit(queuedTasksMax, base.queuedTasksMax, "queuedTasksMax"),
    ...(isToPause && { pausedBy: pausedBy ?? by }),
    changedBy: by,
  };
  const changes: Change[] = [{ table: "group", row }];
  if (isToPause && pausedBy === undefined && known !== undefined) {
    changes.push(...wantedBack(state, id, known.tasks.held));
  }
  return { changes, answer: undefined };
}

/** Tasks of a paused group that agents have fetched ahead. */
function wantedBack(state: State, id: GroupId, count: number): Change[] {
  const changes: Change[] = [];
  for (const task of count === 0 ? [] : state.fleet.ahead.inOrder()) {
    if (state.jobs.get(task.jobId)?.job.spec.group !== id) continue;
    const row = takenBack(task, `group ${id} is paused`);
    if (row !== undefined) changes.push({ table: "task", row });
  }
  return changes;
}

function toLimit(
  given: number | undefined,
  before: number | undefined,
  field: "runningTasksMax" | "queuedTasksMax",
): number | undefined {
  if (given === undefined) return before;
  return checkRule(given, field, GROUP_RULES[field]) === 0 ? undefined : given;
}

export function removeGroup(state: State, command: CommandOf<"remove-group">): Decision<undefined> {
  const { id, by } = command;
  const record = state.groups.get(id);
  if (record === undefined) throw new AppError("not_found", `there is no group ${id}`);
  checkRevision(`group ${id}`, record.revision, command);
  if (id === DEFAULT_GROUP)
    throw new AppError("conflict", `group ${id} always exists and cannot be removed`);
  if (record.jobTotal > 0) {
    throw new AppError(
      "conflict",
      `group ${id} has ${record.jobTotal} jobs; only a group without jobs can be removed`,
    );
  }
  return { changes: [{ table: "group", removed: id, by }], answer: undefined };
}
