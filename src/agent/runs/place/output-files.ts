import { isAbsolute } from "node:path";

import type { RunRequest } from "../../../ports/executor.ts";

/**
 * The request with a shell before its command that opens the files for its output. A relative path in a
 * fresh directory would be removed with it: then the agent retains the output, and a line says so.
 */
export function withOutputFiles(request: RunRequest): RunRequest {
  const { outputFiles, before = [] } = request;
  if (outputFiles === undefined) return request;
  const [stdout, stderr] = [outputFiles.stdout, outputFiles.stderr].map((file) =>
    expand(file, request),
  );
  const lost = [stdout, stderr].find(
    (file) => file !== undefined && file !== "" && request.cwd === undefined && !isAbsolute(file),
  );
  const words =
    lost === undefined
      ? ["/bin/sh", "-c", REDIRECT, stdout ?? "", stderr ?? ""]
      : ["/bin/sh", "-c", KEEP, lost];
  return { ...request, before: [...words, ...before] };
}

const KEEP =
  'printf "busbar: %s would be deleted with this fresh directory; the output goes to busbar logs instead\\n" "$0" >&2; exec "$@"';

/**
 * Several processes of one run, which Slurm and Flux start, must not truncate each other's file. Not ":" but "true" opens it, because a shell
 * ends with its own code when it cannot redirect a special builtin.
 */
const REDIRECT = `
busbar_stderr=$1; shift
for busbar_file in "$0" "$busbar_stderr"; do
  busbar_folder=\${busbar_file%/*}
  case $busbar_file in ?*/*) mkdir -p -- "$busbar_folder" || exit 126 ;; esac
  [ -z "$busbar_file" ] || [ -n "$SLURM_PROCID$FLUX_TASK_RANK" ] || true >"$busbar_file" ||
    { printf "busbar: the file for output %s cannot be written\\n" "$busbar_file" >&2; exit 126; }
done
[ -z "$0" ] || exec >>"$0"
if [ -n "$busbar_stderr" ]; then
  if [ "$busbar_stderr" = "$0" ]; then exec 2>&1; else exec 2>>"$busbar_stderr"; fi
fi
exec "$@"`;

/** Replaces "%j" and so on; any other letter stays. */
export function expand(file: string, { id, env }: Pick<RunRequest, "id" | "env">): string {
  const values: Readonly<Record<string, string>> = {
    j: String(id.jobId),
    i: String(id.index),
    a: String(id.attempt),
    n: env["BUSBAR_NODE"] ?? "",
    "%": "%",
  };
  return file.replaceAll(/%(.)/g, (all, letter: string) => values[letter] ?? all);
}
