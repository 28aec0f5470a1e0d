import { isAbsolute, resolve } from "node:path";
import type { JobSubmissionInit } from "../../../client/messages.ts";
import { PLAIN_RULES } from "../../../core/model/job/plain-fields.ts";
import type { Context } from "../../context.ts";

/** The value of `--cwd`, and of `cwd` in a file, instead of a path. */
const FRESH = "fresh";

/** The working directory of tasks: that of `--cwd`, or this directory if the node has it. */
export function directoryOf({ cwd }: { readonly cwd?: string }, context: Context) {
  if (cwd === undefined) return submitDirectoryOf(context);
  return cwd === FRESH ? {} : { cwd: resolveHere(context, cwd) };
}

/** A path of the caller. An absolute one needs no current directory, which may have been removed. */
export const resolveHere = (context: Context, path: string): string =>
  isAbsolute(path) ? resolve(path) : resolve(context.cwd, path);

/** Why the program will not be found though this directory has a file of its name; undefined: it will, or has none. */
export function missingProgram([program = ""]: readonly string[], context: Context) {
  if (program === "" || program.includes("/") || !context.hasFile(resolve(context.cwd, program)))
    return undefined;
  const folders = (context.env["PATH"] ?? "").split(":").filter((folder) => folder !== "");
  if (folders.some((folder) => context.hasFile(resolve(folder, program)))) return undefined;
  return `warning: ${program} is not on the PATH; to run the file in this directory, write ./${program}`;
}

/** A job of a file, which may set its own directory. An image has its own directories. */
export function withDirectory(job: JobSubmissionInit, context: Context): JobSubmissionInit {
  const { spec } = job;
  if (spec?.cwd === FRESH) {
    const { cwd: _fresh, ...others } = spec;
    return { ...job, spec: others } as JobSubmissionInit;
  }
  const hasOwn = spec?.cwd !== undefined || spec?.submitDirectory !== undefined;
  if (
    spec === undefined ||
    hasOwn ||
    spec.image !== undefined ||
    (spec.containers ?? []).length > 0
  )
    return job;
  return { ...job, spec: { ...spec, ...submitDirectoryOf(context) } } as JobSubmissionInit;
}

/** None if the path is not a valid text; then a fresh directory is used. */
function submitDirectoryOf(context: Context) {
  const id = context.directoryId();
  const isText = new RegExp(PLAIN_RULES.submitDirectory.pattern, "u");
  const fits = context.cwd.length <= PLAIN_RULES.submitDirectory.maxLength;
  if (id === undefined || !fits || !isText.test(context.cwd)) return {};
  return { submitDirectory: context.cwd, submitDirectoryId: id };
}
