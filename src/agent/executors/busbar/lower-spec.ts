import { create, fromBinary, toBinary } from "@bufbuild/protobuf";

import { fromResources } from "../../../core/model/resources.ts";
import {
  EnergySchema,
  type JobSpec,
  JobSpecSchema,
  PlacementSchema,
} from "../../../gen/busbar/v1/busbar_pb.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { RunRequest } from "../../../ports/executor.ts";

/** The site's name at the Busbar above it, and where its jobs go below. */
export interface SiteTerms {
  /** The site's name above. */
  readonly cluster: string;
  /** The id of the site's agent: no other agent has it. */
  readonly fingerprint: string;
  /** The group of jobs below that come from above. */
  readonly group: string;
  /** The only cluster below that they may run on; undefined: any. */
  readonly below: string | undefined;
}

/** On each job below: the site's name above, the task there, and the agents that it came through, oldest first. */
export const ORIGIN = "busbar.origin";
export const ORIGIN_TASK = "busbar.origin.task";
const ORIGIN_PATH = "busbar.origin.path";

/**
 * The job below that is one run from above: its spec as bytes, in base64. All fields of the spec above pass, also those that this agent is
 * too old to know, except those that the Busbar above decides: group and place, earliest start, retries. Throws for work that was at this
 * site before.
 */
export function toLowerSpec(request: RunRequest, site: SiteTerms): string {
  const { work, job, arrayIndex, timeLimitMs } = request;
  const spec = fromBinary(JobSpecSchema, job?.spec ?? new Uint8Array());
  const path = pathOf(spec.labels[ORIGIN_PATH], site);
  settle(spec, site);
  spec.name = request.name;
  spec.labels = {
    ...spec.labels,
    [ORIGIN]: site.cluster,
    [ORIGIN_TASK]: taskAbove(request),
    [ORIGIN_PATH]: path,
  };
  if (work.kind === "command") spec.command = [...work.argv];
  else if (work.kind !== "script" || work.text !== "") spec[work.kind] = work.text;
  spec.env = envOf(request, site);
  spec.cwd = request.cwd;
  ask(spec, request);
  askEnergy(spec, request);
  spec.array = arrayIndex === undefined ? undefined : `${arrayIndex}`;
  spec.timeLimitMs = timeLimitMs === undefined ? undefined : BigInt(timeLimitMs);
  spec.killGraceMs = BigInt(request.killGraceMs);
  spec.outputLimitBytes = BigInt(request.outputLimitBytes);
  return Buffer.from(toBinary(JobSpecSchema, spec)).toString("base64");
}

export const readLowerSpec = (text: string): JobSpec =>
  fromBinary(JobSpecSchema, Buffer.from(text, "base64"));

function settle(spec: JobSpec, { group, below }: SiteTerms): void {
  const placement = below === undefined ? { kind: "any" } : { cluster: below };
  spec.group = group;
  spec.placement = create(PlacementSchema, placement);
  spec.retries = undefined;
  spec.service = undefined;
  spec.queueDeadlineMs = undefined;
  spec.beginAtMs = undefined;
  spec.dependsOn = [];
  spec.select = undefined;
}

/** A whole jobspec names its resources itself. */
function ask(spec: JobSpec, { work, needs, request }: RunRequest): void {
  const isAnything = work.kind === "jobspec" && Object.keys(needs).length === 0;
  spec.resources = request !== undefined || isAnything ? {} : fromResources(needs);
  spec.request = request === undefined ? undefined : JSON.stringify(request);
}

/** A share becomes a job with its energy, which the site splits again. Limits on shares hold for those below too. */
function askEnergy(spec: JobSpec, { shareWattSeconds }: RunRequest): void {
  if (shareWattSeconds === undefined) return;
  const { leastShare, greatestShare, split } = spec.energy ?? {};
  const all = BigInt(shareWattSeconds);
  spec.energy = create(EnergySchema, {
    wattSeconds: all,
    ...(leastShare !== undefined && { leastShare: leastShare < all ? leastShare : all }),
    ...(greatestShare !== undefined && { greatestShare }),
    ...(split !== undefined && { split }),
  });
}

/** In the form that people use: "17", or "17.3" of an array or of shares. */
const taskAbove = ({ id, arrayIndex, shareWattSeconds }: RunRequest): string =>
  arrayIndex === undefined && shareWattSeconds === undefined
    ? `${id.jobId}`
    : `${id.jobId}.${id.index}`;

/** Drops the variables that describe the run above: the site sets its own. Adds those that name its origin. */
function envOf(request: RunRequest, site: SiteTerms): Record<string, string> {
  const { env, id, job } = request;
  const isAbove = (name: string): boolean =>
    name.startsWith("BUSBAR_") && !name.startsWith("BUSBAR_ORIGIN_");
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !isAbove(name)));
  const isFirst = own["BUSBAR_ORIGIN_JOB_ID"] === undefined; // otherwise it comes from further above
  if (!isFirst) return own;
  return {
    ...own,
    BUSBAR_ORIGIN_JOB_ID: `${id.jobId}`,
    BUSBAR_ORIGIN_TASK_ID: taskAbove(request),
    BUSBAR_ORIGIN_ATTEMPT: `${id.attempt}`,
    BUSBAR_ORIGIN_CLUSTER: site.cluster,
    ...(job?.arraySize !== undefined && { BUSBAR_ORIGIN_ARRAY_SIZE: `${job.arraySize}` }),
  };
}

function pathOf(before: string | undefined, { cluster, fingerprint }: SiteTerms): string {
  const agents = before === undefined || before === "" ? [] : before.split(",");
  if (agents.includes(fingerprint)) {
    throw new AppError(
      "conflict",
      `the job has already passed through site ${cluster}: these sites submit to each other in a circle`,
    );
  }
  if (agents.length >= limits.siteHopsMax) {
    throw new AppError(
      "conflict",
      `the job has passed through ${agents.length} sites, which is the limit`,
    );
  }
  return [...agents, fingerprint].join(",");
}

/**
 * Identifies the run for good: a second submission returns the existing job. Servers above may be replaced, and
 * count their jobs from 1 again: the time of submission there distinguishes such jobs.
 */
export const idempotencyKeyOf = (
  { id: { jobId, index, attempt }, job }: Pick<RunRequest, "id" | "job">,
  { cluster, fingerprint }: SiteTerms,
): string =>
  `busbar:${fingerprint}:${cluster}:${jobId}.${index}.${attempt}:${job?.submittedAtMs ?? 0}`;
