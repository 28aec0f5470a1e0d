import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";

/**
 * A fact that a door must remember for its clients and that nothing else in Busbar has a place for, in the
 * door's own words: a tenant of rik, a controller that has heard of an end.
 */
export interface DoorRecord {
  /** The door, the kind and the name: `rik/tenant/7`. */
  readonly id: string;
  readonly text: string;
}

/** Without a text: it is remembered no more. */
export interface DoorRecordPut {
  readonly id: string;
  readonly text: string | undefined;
}

/** Throws unless it may be stored. */
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
