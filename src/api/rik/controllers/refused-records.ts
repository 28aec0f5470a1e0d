import { createHash } from "node:crypto";
import { ResourceStatus } from "../../../gen/rik/v1/common_pb.ts";
import { limits } from "../../../limits.ts";
import { keyOf } from "./end-notes.ts";
import { newInstance, type RikInstance } from "./instance.ts";

/** Keys of records of instances that never became a job, and whose controllers have not received their ends. */
export const REFUSED = "rik/refused/";

export function refusedRecord({ controller, id, workloadId }: RikInstance, reason: string) {
  const text = JSON.stringify({ controller, id, workloadId, reason });
  return { id: refusedKey(controller, id), text };
}

/** Ids may have any length. */
export function refusedKey(controller: string, id: string): string {
  const key = REFUSED + keyOf(controller, id);
  if (key.length <= limits.doorRecordIdLengthMax) return key;
  return `${REFUSED}${controller}/sha256:${createHash("sha256").update(id).digest("hex")}`;
}

export function fromRecord(text: string): RikInstance {
  const { reason, ...names } = JSON.parse(text) as Pick<
    RikInstance,
    "controller" | "id" | "workloadId"
  > & { readonly reason: string };
  return newInstance({ ...names, state: { status: ResourceStatus.FAILED, reason }, isOver: true });
}
