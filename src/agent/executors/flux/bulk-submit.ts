import { limits } from "../../../limits.ts";
import type { LowerJob } from "../../lower/scheduler.ts";
import { jobNameOf } from "./job-name.ts";
import type { FluxSite } from "./submit-arguments.ts";
import { needsInstance, sharedArguments } from "./submit-arguments.ts";

/** A job with the file that holds its script. */
export interface ScriptedJob {
  readonly job: LowerJob;
  readonly path: string;
}

/**
 * Jobs that one `flux bulksubmit` can submit together: they differ in names and paths only. Others are submitted alone. Options of the
 * operator that Flux would expand also prevent a bulk.
 */
export function gatherBulks(jobs: readonly LowerJob[], site: FluxSite): readonly LowerJob[][] {
  const isFilled = [site.partition, site.account, ...(site.extraArgs ?? [])].some((word) =>
    /[{}]/.test(word ?? ""),
  );
  const kindOf = (job: LowerJob): string => {
    const isAlone = job.indexes !== undefined || job.after.length > 0 || needsInstance(job);
    return isAlone || isFilled ? job.marker : JSON.stringify(sharedArguments(job, site));
  };
  return [...Map.groupBy(jobs, kindOf).values()].flatMap((alike) => {
    const chunks: LowerJob[][] = [];
    for (let at = 0; at < alike.length; at += limits.fluxBulkJobsMax) {
      chunks.push(alike.slice(at, at + limits.fluxBulkJobsMax));
    }
    return chunks;
  });
}

/** The words after `flux` that submit all of these: linked lists fill in the differences. */
export function bulkArguments(jobs: readonly ScriptedJob[], site: FluxSite): readonly string[] {
  const [first] = jobs;
  if (first === undefined) return [];
  const list = (of: (each: ScriptedJob) => string): string[] => jobs.map(of);
  return [
    "bulksubmit",
    "--job-name={0}",
    "--cwd={1}",
    "--output={2}",
    "--error={3}",
    ...sharedArguments(first.job, site),
    "{4}",
    ":::",
    ...list(({ job }) => jobNameOf(job)),
    ":::+",
    ...list(({ job }) => job.directory),
    ":::+",
    ...list(({ job }) => job.stdout),
    ":::+",
    ...list(({ job }) => job.stderr),
    ":::+",
    ...list(({ path }) => path),
  ];
}
