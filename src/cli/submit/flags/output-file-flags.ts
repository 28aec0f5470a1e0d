import type { Command } from "commander";
import { outputFileProblem } from "../../../core/model/job/plain-fields.ts";
import { invalid } from "../../../lib/errors.ts";
import { notEmpty } from "../../flags.ts";

export interface OutputFileFlags {
  readonly stdout?: string;
  readonly stderr?: string;
}

export function addOutputFileFlags(command: Command): void {
  command
    .option(
      "--stdout <file>",
      "write standard output to this file of the node; %j %i %a %n: job, index, attempt, node",
      outputFile("--stdout"),
    )
    .option("--stderr <file>", "the same for standard error", outputFile("--stderr"));
}

const outputFile =
  (flag: string) =>
  (text: string): string => {
    const problem = outputFileProblem(text, false);
    if (problem === undefined) return notEmpty(flag)(text);
    throw invalid(flag, problem);
  };

export interface OutputSurroundings extends OutputFileFlags {
  readonly array?: string;
  readonly eachLine?: string;
  readonly fromJson?: string;
  readonly cwd?: string;
  readonly image?: string;
}

export const isArrayOf = ({ array, eachLine, fromJson }: OutputSurroundings): boolean =>
  (array ?? eachLine ?? fromJson) !== undefined;

/** The fields of a job; rejects contradictions. */
export function outputFilesOf(flags: OutputSurroundings) {
  const { stdout, stderr, cwd, image } = flags;
  const isArray = isArrayOf(flags);
  for (const [flag, file] of Object.entries({ "--stdout": stdout, "--stderr": stderr })) {
    if (file === undefined || file === "/dev/null") continue;
    if (image !== undefined) throw invalid(flag, "cannot be combined with --image");
    if (cwd === "fresh" && !file.startsWith("/"))
      throw invalid(
        flag,
        `"${file}" would be deleted with the fresh directory; write an absolute path`,
      );
    const problem = outputFileProblem(file, isArray);
    if (problem !== undefined) throw invalid(flag, problem);
  }
  return { stdoutFile: stdout, stderrFile: stderr };
}
