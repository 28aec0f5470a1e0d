import { outputFileProblem } from "../../../core/model/job/plain-fields.ts";
import { visible } from "../../../core/model/texts.ts";
import { limits } from "../../../limits.ts";
import type { DependencyFlags } from "../job-dependencies.ts";
import { isArrayOf, type OutputFileFlags, type OutputSurroundings } from "./output-file-flags.ts";
import type { JobOptions } from "./sbatch-options.ts";

/** The job that the options belong to, by all its other flags. */
export interface OptionsJob extends OutputSurroundings, DependencyFlags {
  readonly name: string;
  /** Its output goes to a terminal. */
  readonly isTerminal: boolean;
  /** The user of the command, as the machine names it. */
  readonly user: string | undefined;
}

export interface JobOptionFlags {
  /** They apply where nothing else sets them. */
  readonly flags: OutputFileFlags & DependencyFlags;
  readonly warnings: readonly string[];
}

/**
 * The flags that options of sbatch mean for this job. With --output alone both streams go to its file, as in
 * Slurm. A file that tasks cannot write is left out: the agent then retains the output.
 */
export function jobOptionFlags(options: JobOptions, job: OptionsJob): JobOptionFlags {
  const warnings: string[] = [];
  const fileOf = (option: "output" | "error"): string | undefined => {
    const pattern = options[option];
    if (pattern === undefined) return undefined;
    const { file, problem } = toOutputFile(pattern, job);
    if (problem === undefined) return file;
    const kept = `${problem}; busbar logs has the output`;
    warnings.push(`#SBATCH --${option}=${pattern} of the script is ignored: ${kept}`);
    return undefined;
  };
  const stdout = fileOf("output");
  const stderr = options.error === undefined ? stdout : fileOf("error");
  const singleton = options.isSingleton === true ? singletonOf(job) : undefined;
  return {
    flags: {
      ...(stdout !== undefined && { stdout }),
      ...(stderr !== undefined && { stderr }),
      ...(singleton !== undefined && { singleton }),
    },
    warnings,
  };
}

/** Jobs of one name and user are a line of their own, as in Slurm. */
const singletonOf = ({ name, user }: OptionsJob): string =>
  visible(user === undefined ? name : `${user}/${name}`, limits.nameLengthMax);

type Translated =
  | { readonly file: string; readonly problem?: undefined }
  | { readonly file?: undefined; readonly problem: string };

/** A pattern of Slurm as one of ours. */
function toOutputFile(pattern: string, job: OptionsJob): Translated {
  const isArray = isArrayOf(job);
  const values: Readonly<Record<string, string>> = {
    // A task of an array has a job id of its own in Slurm. Ours is "17.3".
    "%j": isArray && !pattern.includes("%a") ? "%j.%i" : "%j",
    "%A": "%j",
    "%a": "%i",
    "%N": "%n",
    "%x": job.name.replaceAll("%", "%%"),
    "%%": "%%",
    // A job is one task on one node.
    "%n": "0",
    "%t": "0",
  };
  const unknown = (pattern.match(/%\d*.?/gs) ?? []).find((each) => values[each] === undefined);
  if (unknown !== undefined) return { problem: `"${unknown}" is not supported` };
  if (pattern.includes("\\")) return { problem: "a backslash is not supported" };
  if (job.isTerminal) return { problem: "a terminal shows all output" };
  if (job.image !== undefined) return { problem: "an image has no files of the node" };
  const file = pattern.replaceAll(/%./gs, (each) => values[each] ?? each);
  if (job.cwd === "fresh" && !file.startsWith("/"))
    return { problem: "it would be deleted with the fresh directory" };
  const problem = outputFileProblem(file, isArray);
  return problem === undefined
    ? { file }
    : { problem: "all tasks of the array would write it; add %a" };
}
