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

/** What the caller of a job without a directory of its own should know about this one. */
export const directoryWarning = (words: readonly string[], context: Context): string | undefined =>
  unusableDirectory(context) ?? missingProgram(words, context);

/** The node cannot say why it uses a fresh directory, because the job does not name this one. */
function unusableDirectory(context: Context): string | undefined {
  // Bytes that are not UTF-8 are replaced, and then there is no such directory.
  const isReplaced = context.cwd.includes("\ufffd") && context.directoryId() === undefined;
  if (!isReplaced && isPlainPath(context.cwd)) return undefined;
  const why = isReplaced ? "is not UTF-8" : "is too long, or has a line break, tab or the like";
  return `warning: the path of this directory ${why}: running in a fresh directory`;
}

const isPlainPath = (path: string): boolean =>
  path.length <= PLAIN_RULES.submitDirectory.maxLength &&
  new RegExp(PLAIN_RULES.submitDirectory.pattern, "u").test(path);

/** Why the program will not be found though this directory has a file of its name; undefined: it will, or has none. */
function missingProgram([program = ""]: readonly string[], context: Context) {
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
  if (id === undefined || !isPlainPath(context.cwd)) return {};
  return { submitDirectory: context.cwd, submitDirectoryId: id };
}
