import type { LowerJob, LowerShape } from "../../lower/scheduler.ts";
import { INDEX } from "../../lower/scheduler.ts";
import { jobNameOf } from "./job-name.ts";

/** The operator's options for every job. */
export interface FluxSite {
  /** Flux calls it a queue. */
  readonly partition?: string | undefined;
  /** Flux calls it a bank. */
  readonly account?: string | undefined;
  readonly extraArgs?: readonly string[] | undefined;
}

/** A script that starts processes itself needs its own Flux instance. */
export const needsInstance = ({ launch, shape }: Pick<LowerJob, "launch" | "shape">): boolean =>
  launch === "once" || shape.processes > 1;

/** The words after `flux` that submit a job whose script is the file at `path`. */
export function submitArguments(job: LowerJob, path: string, site: FluxSite): readonly string[] {
  const fill = (text: string): string => text.replaceAll(INDEX, "{cc}");
  return [
    needsInstance(job) ? "batch" : "submit",
    `--job-name=${jobNameOf(job)}`,
    `--cwd=${job.directory}`,
    `--output=${fill(job.stdout)}`,
    `--error=${fill(job.stderr)}`,
    ...sharedArguments(job, site),
    path,
  ];
}

/** The words that depend on neither names nor paths. */
export function sharedArguments(job: LowerJob, site: FluxSite): readonly string[] {
  const { timeLimitMs, indexes, after } = job;
  return [
    ...shapeArguments(job.shape, needsInstance(job) ? "slot" : "task"),
    ...(timeLimitMs === undefined ? [] : [`--time-limit=${Math.ceil(timeLimitMs) / 1_000}s`]),
    ...(indexes === undefined ? [] : [`--cc=${idsetOf(indexes)}`]),
    ...after.map((id) => `--dependency=afterok:${id}`),
    ...(site.partition === undefined ? [] : [`--queue=${site.partition}`]),
    ...(site.account === undefined
      ? []
      : [`--setattr=system.bank=${JSON.stringify(site.account)}`]),
    ...(site.extraArgs ?? []),
  ];
}

/** Flux does not know memory; it allocates whole nodes only when the request names their number. */
export function shapeArguments(shape: LowerShape, each: "task" | "slot"): readonly string[] {
  const { processes, coresPerProcess, gpusPerProcess, isExclusive } = shape;
  const nodes = shape.nodes ?? (isExclusive ? processes : undefined);
  return [
    ...(nodes === undefined ? [] : [`--nodes=${Math.min(nodes, processes)}`]),
    `--n${each}s=${processes}`,
    ...(coresPerProcess > 0 ? [`--cores-per-${each}=${coresPerProcess}`] : []),
    ...(gpusPerProcess > 0 ? [`--gpus-per-${each}=${gpusPerProcess}`] : []),
    ...(isExclusive ? ["--exclusive"] : []),
  ];
}

/** [0, 1, 2, 7] is "0-2,7". */
function idsetOf(indexes: readonly number[]): string {
  const parts: { readonly first: number; last: number }[] = [];
  for (const index of indexes) {
    const open = parts.at(-1);
    if (open !== undefined && index === open.last + 1) open.last = index;
    else parts.push({ first: index, last: index });
  }
  return parts.map(({ first, last }) => (first === last ? first : `${first}-${last}`)).join(",");
}
