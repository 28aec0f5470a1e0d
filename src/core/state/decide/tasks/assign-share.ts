import { AppError, invalid, unprocessable } from "../../../../lib/errors.ts";
import { isJobEnded } from "../../../model/progress.ts";
import { mustGiveUp, unplacedOf } from "../../../model/energy-progress.ts";
import { describeRefusal } from "../../../scheduler/explain/describe.ts";
import type { NodeShare } from "../../../scheduler/power/choose-shares.ts";
import { verifySplit } from "../../../scheduler/verify.ts";
import type { AnswerTo, CommandOf, Decision } from "../../command.ts";
import type { JobRecord } from "../../jobs/job-record.ts";
import type { State } from "../../state.ts";
import { changesOfSplit } from "./place-task.ts";

/**
 * An external scheduler assigns a share of a job to a node; `verify` checks it like a placement of the planner. The share has the requested
 * size, limited to the rest of the job and to what the node accepts at once: such a scheduler requests the whole job again when an edge was
 * lost with a part of it.
 */
export function assignShare(
  state: State,
  command: CommandOf<"assign-share">,
): Decision<AnswerTo<"assign-share">> {
  const record = openJob(state, command);
  const index = record.nextIndex();
  const left = unplacedOf(record.job, record.progress);
  if (left <= 0) throw refused(command, "all of its energy is assigned already");
  if (mustGiveUp(record.job, record.progress))
    throw refused(command, "too many of its shares failed, and it is given up");
  if (index === undefined)
    throw refused(command, "one of its shares failed, and its backoff has not passed");
  const share = shareOf(state, record, command, left);
  const placement = { record, index, shares: [share] };
  const refusal = verifySplit(state, placement);
  if (refusal !== undefined) throw refused(command, describeRefusal(refusal));
  const changes = changesOfSplit(placement, command.nowMs);
  return { changes, answer: { index, wattSeconds: share.wattSeconds } };
}

const refused = ({ jobId }: CommandOf<"assign-share">, why: string): AppError =>
  new AppError("conflict", `no share of job ${jobId} can be assigned: ${why}`);

function openJob({ jobs }: State, command: CommandOf<"assign-share">): JobRecord {
  const { jobId } = command;
  const known = jobs.get(jobId);
  if (known === undefined) throw new AppError("not_found", `there is no job ${jobId}`);
  const { spec } = known.job;
  if (spec.energy === undefined) {
    throw unprocessable("jobId", `job ${jobId} requests no energy: the server places its tasks`);
  }
  const { wattSeconds: all } = spec.energy;
  if (!Number.isSafeInteger(command.wattSeconds) || command.wattSeconds < 1) {
    throw invalid("wattSeconds", "must be a whole number from 1");
  }
  const state = isJobEnded(known.progress) ? known.progress.state : known.job.closed?.kind;
  if (state !== undefined) throw refused(command, `it is ${state}`);
  if (command.wattSeconds > all) {
    throw unprocessable("wattSeconds", `is more than the ${all} watt-seconds of job ${jobId}`);
  }
  const record = jobs.openWaiting(jobId);
  if (record === undefined) throw refused(command, "it has ended");
  return record;
}

function shareOf(
  { nodes }: State,
  { job }: JobRecord,
  { nodeId, wattSeconds }: CommandOf<"assign-share">,
  left: number,
): NodeShare {
  const node = nodes.get(nodeId);
  if (node === undefined) throw new AppError("not_found", `there is no node ${nodeId}`);
  const most = [job.spec.energy?.greatestShare, node.node.power?.greatestShare];
  const bounds = most.filter((one) => one !== undefined);
  return { node, wattSeconds: Math.min(wattSeconds, left, ...bounds) };
}
