import type { Command } from "commander";
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
    const [unknown] = text.match(/%(?![jian%]).?/) ?? [];
    if (unknown === undefined) return notEmpty(flag)(text);
    throw invalid(
      flag,
      `"${unknown}" is not known; write %j, %i, %a, %n, or %% for a percent sign`,
    );
  };

interface Around extends OutputFileFlags {
  readonly array?: string;
  readonly cwd?: string;
  readonly image?: string;
}

/** The fields of a job; rejects contradictions. */
export function outputFilesOf({ stdout, stderr, array, cwd, image }: Around) {
  for (const [flag, file] of Object.entries({ "--stdout": stdout, "--stderr": stderr })) {
    if (file === undefined || file === "/dev/null") continue;
    if (image !== undefined) throw invalid(flag, "cannot be combined with --image");
    if (cwd === "fresh" && !file.startsWith("/"))
      throw invalid(
        flag,
        `"${file}" would be deleted with the fresh directory; write an absolute path`,
      );
    if (array !== undefined && !file.includes("%i"))
      throw invalid(flag, `"${file}" would be written by all tasks of the array; add %i`);
  }
  return { stdoutFile: stdout, stderrFile: stderr };
}
