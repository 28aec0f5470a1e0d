import { AppError, invalid } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { DEFAULT_GROUP, freshGroup, WEIGHT_RULE } from "../../model/group.ts";
import { checkValue } from "../../model/texts.ts";
import type { CommandOf, Decision } from "../command.ts";
import type { State } from "../state.ts";

/** Creates the group, or changes what is given. A limit of 0 means none. */
export function putGroup(state: State, command: CommandOf<"put-group">): Decision<undefined> {
  const { id, weight, owner, runningTasksMax, queuedTasksMax, by } = command;
  const known = state.groups.get(id);
  if (known === undefined && state.groups.size >= limits.groupsMax) {
    throw new AppError("exhausted", `there are ${limits.groupsMax} groups already`);
  }
  if (weight !== undefined && !(weight > 0 && weight <= WEIGHT_RULE.maximum)) {
    throw invalid(
      "weight",
      `must be more than 0 and at most ${WEIGHT_RULE.maximum}, not ${weight}`,
    );
  }
  if (owner !== undefined) checkValue(owner, "owner", limits.nameLengthMax);
  const base = known?.group ?? freshGroup(id);
  const row = {
    ...base,
    weight: weight ?? base.weight,
    owner: owner ?? base.owner,
    runningTasksMax: toLimit(runningTasksMax, base.runningTasksMax, "runningTasksMax"),
    queuedTasksMax: toLimit(queuedTasksMax, base.queuedTasksMax, "queuedTasksMax"),
    ...(by === undefined ? {} : { changedBy: by }),
  };
  return { changes: [{ table: "group", row }], answer: undefined };
}

function toLimit(
  given: number | undefined,
  before: number | undefined,
  field: string,
): number | undefined {
  if (given === undefined) return before;
  if (!Number.isSafeInteger(given) || given < 0) {
    throw invalid(field, `must be a whole number, 0 for no limit, not ${given}`);
  }
  return given === 0 ? undefined : given;
}

export function removeGroup(state: State, { id }: CommandOf<"remove-group">): Decision<undefined> {
  const record = state.groups.get(id);
  if (record === undefined) throw new AppError("not_found", `there is no group ${id}`);
  if (id === DEFAULT_GROUP) throw new AppError("conflict", `group ${id} cannot be removed`);
  if (record.jobTotal > 0) {
    throw new AppError("conflict", `group ${id} has ${record.jobTotal} jobs; it must have none`);
  }
  return { changes: [{ table: "group", removed: id }], answer: undefined };
}
