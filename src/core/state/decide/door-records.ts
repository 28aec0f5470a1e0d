import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { checkDoorRecord } from "../../model/door-record.ts";
import type { CommandOf, Decision } from "../command.ts";
import type { State } from "../state.ts";
import type { DoorRecordChange } from "../tables/door-records.ts";

/** All or none. Removing a missing record and writing an equal one change nothing. */
export function putDoorRecords(
  { doorRecords }: State,
  { records }: CommandOf<"put-door-records">,
): Decision<undefined> {
  const changes: DoorRecordChange[] = [];
  let added = 0;
  for (const { id, text } of records) {
    const known = doorRecords.get(id);
    if (text === undefined) {
      if (known !== undefined) changes.push({ table: "door", removed: id });
    } else if (known?.text !== text) {
      changes.push({ table: "door", row: checkDoorRecord({ id, text }) });
      if (known === undefined) added++;
    }
  }
  if (added > 0 && doorRecords.size + added > limits.doorRecordsMax) {
    throw new AppError(
      "exhausted",
      `the limit of ${limits.doorRecordsMax} records of doors is reached`,
    );
  }
  return { changes, answer: undefined };
}
