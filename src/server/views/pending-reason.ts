import { isWaiting } from "../../core/scheduler/request.ts";
import {
  isEverPossible,
  isNothingRegistered,
} from "../../core/state/decide/tasks/check-possible.ts";
import { describeWaiting } from "../../core/state/dependencies/describe.ts";
import type { JobSpec } from "../../core/model/job/job.ts";
import type { JobRecord } from "../../core/state/jobs/job-record.ts";
import type { State } from "../../core/state/state.ts";
import { describeTaken } from "./explain/explain-taken.ts";
import { whyNotPlaced } from "./not-placed.ts";

/** Of a job with a task that has not begun. Totals that need no pass over all nodes. */
export function pendingReason(state: State, record: JobRecord): string | undefined {
  const kept = whyNotPlaced(state, record);
  if (kept !== undefined) return kept;
  const hold = state.holds.get(record.job.id);
  if (hold !== undefined) return describeWaiting(state.jobs, state.holds, hold);
  const { pending, waiting } = record.progress.counts;
  if (pending + waiting === 0) return describeTaken(record);
  const { spec } = record.job;
  if (isNothingRegistered(state, spec)) return nothingJoined(spec);
  const request = state.queue.classOf(spec);
  if (request === undefined || !isWaiting(request)) return undefined;
  if (!isEverPossible(state, spec)) return "no registered node or cluster can run this job";
  if (spec.request !== undefined) return "no node or cluster has enough free capacity now";
  const { port } = spec.where;
  const room =
    port === undefined ? "enough free capacity" : `enough free capacity and port ${port} free`;
  return noneAccepts(state) ?? `no node has ${room} now`;
}

/** "no node accepts tasks now: 2 drained, 1 lost"; undefined: some do, a quarantined one as a trial. */
function noneAccepts({ nodeTotals: { states } }: State): string | undefined {
  const { connected, quarantined, ...others } = states;
  if (connected + quarantined > 0) return undefined;
  const counts = Object.entries(others).filter(([, count]) => count > 0);
  return `no node accepts tasks now: ${counts.map(([name, count]) => `${count} ${name}`).join(", ")}`;
}

/** Why a job is pending for which no node is known yet. */
export const nothingJoined = ({ energy }: JobSpec): string =>
  energy === undefined ? "no node has joined yet" : "no node with power has joined yet";
