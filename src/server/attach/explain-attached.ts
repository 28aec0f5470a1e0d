import type { NodeId } from "../../core/model/ids.ts";
import { isActive } from "../../core/model/job/task.ts";
import { isJobEnded } from "../../core/model/progress.ts";
import type { JobRecord } from "../../core/state/jobs/job-record.ts";
import { formatDuration } from "../../lib/units.ts";
import { limits } from "../../limits.ts";
import type { ExplanationView } from "../views/views.ts";

/** Whether a client is attached to the task of a job that is on this node. */
export type HasClient = (nodeId: NodeId, job: JobRecord["job"]) => boolean;

/** What an interactive job needs of its client; undefined: the job takes no client, or has ended. */
export function explainAttached(
  record: JobRecord,
  hasClient: HasClient,
): Pick<ExplanationView, "summary" | "hints"> | undefined {
  const { job, progress } = record;
  const { attach, hangUpMs = limits.hangUpMsDefault } = job.spec.terms;
  const state = record.task(0)?.state;
  if (attach === undefined || isJobEnded(progress)) return undefined;
  const within = formatDuration(hangUpMs);
  if (state === undefined || !isActive(state)) {
    const what = attach === "terminal" ? "a terminal" : "standard input";
    return { summary: `its client must pass on ${what} within ${within} of its start`, hints: [] };
  }
  if (hasClient(state.nodeId, job)) return { summary: "its client is attached", hints: [] };
  return {
    summary: `no client is attached: without one for ${within} it is hung up, unless its input has ended`,
    hints: [
      `keep the busbar run of job ${job.id} running, or end the job: busbar cancel ${job.id}`,
    ],
  };
}
