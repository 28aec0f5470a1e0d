import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";

/**
 * A fact that a door stores for its clients and that no other table has a place for, in the door's own
 * format: a tenant of rik, a controller that has received an end.
 */
export interface DoorRecord {
  /** The door, the kind and the name: `rik/tenant/7`. */
  readonly id: string;
  readonly text: string;
}

/** Without a text: removes it. */
export interface DoorRecordPut {
  readonly id: string;
  readonly text: string | undefined;
}

/** Throws if it cannot be stored. */
export function checkDoorRecord({ id, text }: DoorRecord): DoorRecord {
  if (!/^[a-z]+\//.test(id) || id.length > limits.doorRecordIdLengthMax) {
    throw invalid(
      "id",
      `must begin with its door, with at most ${limits.doorRecordIdLengthMax} characters`,
    );
  }
  if (text.length > limits.doorRecordCharsMax) {
    throw invalid("text", `has ${text.length} characters; at most ${limits.doorRecordCharsMax}`);
  }
  return { id, text };
}
