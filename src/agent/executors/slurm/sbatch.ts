import { slurmShapeFlags, slurmTime } from "../../../core/jobspec/plan/slurm-flags.ts";
import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { LowerJob } from "../../lower/scheduler.ts";
import { INDEX } from "../../lower/scheduler.ts";

/** The operator's settings for all jobs of a cluster. */
export interface SlurmChoices {
  readonly partition?: string | undefined;
  readonly account?: string | undefined;
  /** Added to every sbatch after the agent's own options, so that these win. */
  readonly extraArgs?: readonly string[] | undefined;
}

/** The options of sbatch for a job; its script comes on stdin. */
export function sbatchArgs(job: LowerJob, choices: SlurmChoices): readonly string[] {
  const { timeLimitMs, indexes, after } = job;
  return [
    "--parsable",
    "--no-requeue", // Busbar decides about retries
    "--export=ALL",
    `--job-name=${plainName(job.name)}`,
    `--comment=${job.marker}`,
    `--chdir=${job.directory}`,
    "--input=/dev/null",
    `--output=${pattern(job.stdout)}`,
    `--error=${pattern(job.stderr)}`,
    "--open-mode=append",
    ...slurmShapeFlags(job.shape),
    ...(timeLimitMs === undefined ? [] : [`--time=${slurmTime(timeLimitMs)}`]),
    ...(indexes === undefined ? [] : [`--array=${ranges(indexes)}`]),
    ...(after.length === 0 ? [] : [afterFlag(after), "--kill-on-invalid-dep=yes"]),
    ...(choices.partition === undefined ? [] : [`--partition=${choices.partition}`]),
    ...(choices.account === undefined ? [] : [`--account=${choices.account}`]),
    ...(choices.extraArgs ?? []),
  ];
}

const plainName = (name: string): string =>
  name.replaceAll(/[\s\p{Cc}]+/gu, " ").slice(0, limits.nameLengthMax) || "busbar";

/** A path in which "%" is literal, and our INDEX becomes Slurm's. */
const pattern = (path: string): string => path.replaceAll("%", "%%").replaceAll(INDEX, "%a");

/** The id of an array means all of its elements. */
const afterFlag = (ids: readonly string[]): string =>
  `--dependency=afterok:${[...new Set(ids.map((id) => id.split("_")[0] ?? id))].join(":")}`;

/** "0-2,7" */
export function ranges(indexes: readonly number[]): string {
  const runs: [first: number, last: number][] = [];
  for (const index of indexes) {
    const run = runs.at(-1);
    if (run !== undefined && run[1] + 1 === index) run[1] = index;
    else runs.push([index, index]);
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}

/** "123", or "123;cluster" if there are several clusters. */
export function parseSbatch(output: string): string {
  const [, id] = /^(\d+)(?:;.*)?$/m.exec(output) ?? [];
  if (id === undefined) {
    const said = JSON.stringify(output.slice(0, 200));
    throw new AppError("unavailable", `sbatch printed no job id: ${said}`);
  }
  return id;
}

/** Messages after which another attempt may help: the controller is away, or accepts no more jobs for now. */
const TEMPORARY =
  /unable to contact|timed out|connection|communication|zero bytes|transport endpoint|temporarily|try again|in standby|backup|munge|authentication|MaxSubmit|MaxJobCount|too many jobs|unexpected message/i;

/** Why sbatch, squeue or scancel failed, for people. */
export function slurmError(program: string, { exitCode, stderr }: Failed): AppError {
  const said = stderr
    .split("\n")
    .map((line) => line.replace(/^\w+: (?:error: )?/, "").trim())
    .filter((line) => line !== "")
    .join("; ");
  const message = `${program}: ${said === "" ? `exit code ${exitCode}` : said}`;
  const text = message.slice(0, limits.errorMessageCharsMax);
  if (TEMPORARY.test(said) || said === "") return new AppError("unavailable", text);
  if (/job array/i.test(said)) return new AppError("exhausted", text);
  return new AppError("invalid_argument", text);
}

interface Failed {
  readonly exitCode: number;
  readonly stderr: string;
}
