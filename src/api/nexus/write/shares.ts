import { AppError, invalid, unprocessable } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { parseTaskId } from "../../../core/model/ids.ts";
import type { Operations } from "../../../server/operations/operations.ts";
import type { OldEdges } from "../edges/old-edges.ts";
import { KINDS } from "../model/kinds.ts";
import type { Path } from "../model/names.ts";
import { type EdgeShare, isOver, shareNameOf } from "../model/project.ts";
import type { Ref } from "../tree/name-index.ts";
import type { Reader } from "../tree/reader.ts";
import type { Tree } from "../tree/tree.ts";
import { countIn, type Received, textOfSpec, UINT32_MAX } from "./received.ts";

type ShareRef = Extract<Ref, { readonly kind: "JobInfo" }>;

/** Its name may be used again: the rest of its job may come to the same edge. */
export const isEndedShare = (ref: Ref): boolean => ref.kind === "JobInfo" && isOver(ref.share.task);

/** The share that a JobInfo of an external scheduler requests. With `isDry` it is only checked. */
export async function assignShare(
  operations: Operations,
  reader: Reader,
  { path, received, isDry }: { path: Path; received: Received; isDry: boolean },
): Promise<ShareRef | undefined> {
  const { tree } = reader;
  const [site = "", edge = "", name = ""] = path;
  const { spec } = received;
  const job = textOfSpec(spec, "requestorJob");
  const group = textOfSpec(spec, "requestorJobGroup");
  const wattSeconds = countIn(spec, "powerNeeded", "spec", UINT32_MAX);
  if (wattSeconds === 0) throw invalid("spec.powerNeeded", "must be at least 1 watt-second");
  const ofJob = tree.at(KINDS.Job, [group, job]);
  if (ofJob?.kind !== "Job") {
    const where = `group ${JSON.stringify(group)} has no job ${JSON.stringify(job)}`;
    throw unprocessable("spec.requestorJob", where);
  }
  const ofEdge = tree.at(KINDS.EdgeDC, [site, edge]);
  if (ofEdge?.kind !== "EdgeDC") {
    const where = `site ${JSON.stringify(site)} has no edge ${JSON.stringify(edge)}`;
    throw unprocessable(`metadata.labels.${KINDS.EdgeDC.crd}`, where);
  }
  if (name !== `${job}-${edge}` && name !== shareNameOf(ofJob.job, edge)) {
    throw invalid("metadata.name", `must be ${job}-${edge}: a JobInfo is called <job>-<edge>`);
  }
  if (isDry) return undefined;
  const made = await operations.assignShare({
    jobId: ofJob.job.id,
    node: ofEdge.node,
    wattSeconds,
  });
  await reader.caughtUp();
  const { jobId, index } = parseTaskId(made.taskId, "taskId");
  const share = tree.share(String(jobId), index ?? 0);
  // Its job may have been deleted at the same moment.
  if (share === undefined) throw new AppError("conflict", `job ${job} was removed`);
  return { kind: "JobInfo", share };
}

/** The report of an old edge's agent about its share. */
export async function reportShare(
  { edges, tree, nowMs }: { readonly edges: OldEdges; readonly tree: Tree; readonly nowMs: number },
  share: EdgeShare,
  { state }: Received,
): Promise<void> {
  const progress = countIn(state, "progress", "status.state", 100);
  const startS = countIn(state, "startTime", "status.state", Number.MAX_SAFE_INTEGER);
  const endS = countIn(state, "endTime", "status.state", Number.MAX_SAFE_INTEGER);
  if (isOver(share.task)) return;
  const startMs = startS === 0 ? nowMs : startS * 1_000;
  const isSeen = tree.hears(share.task.id, limits.nexusReportMsMax);
  const endMs = endS === 0 ? nowMs : endS * 1_000;
  if (await edges.report(share, { progress, startMs, endMs })) await isSeen;
}
