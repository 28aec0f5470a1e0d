import type { TaskRef } from "../../../model/ids.ts";
import type { State } from "../../state.ts";

/** Why a task that was offered to a cluster must not begin now; undefined: it may. */
export function whyKeptBack(state: State, { jobId, index }: TaskRef): string | undefined {
  const record = state.jobs.getOpen(jobId); // a folded job is queued, or has ended
  if (record === undefined) return undefined;
  if (record.isOnHold(index)) return `it is on hold: ${record.job.hold?.reason ?? ""}`;
  const group = state.groups.get(record.job.spec.group)?.group;
  return group?.pausedBy === undefined ? undefined : `group ${group.id} is paused`;
}
