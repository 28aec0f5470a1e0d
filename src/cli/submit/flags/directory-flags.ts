import { resolve } from "node:path";
import type { JobSubmissionInit } from "../../../client/messages.ts";
import { PLAIN_RULES } from "../../../core/model/job/plain-fields.ts";
import type { Context } from "../../context.ts";

/** What `--cwd` says instead of a path. */
const FRESH = "fresh";

/** Where tasks run: as `--cwd` says, or in this directory where the node has it. */
export function directoryOf({ cwd }: { readonly cwd?: string }, context: Context) {
  if (cwd === undefined) return submitDirectoryOf(context);
  return cwd === FRESH ? {} : { cwd: resolve(context.cwd, cwd) };
}

/** A job of a file, which may say itself where it runs. An image has directories of its own. */
export function withDirectory(job: JobSubmissionInit, context: Context): JobSubmissionInit {
  const { spec } = job;
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

/** Nothing where the path cannot be written as a text; a fresh directory is used then. */
function submitDirectoryOf(context: Context) {
  const id = context.directoryId();
  const isText = new RegExp(PLAIN_RULES.submitDirectory.pattern, "u");
  const fits = context.cwd.length <= PLAIN_RULES.submitDirectory.maxLength;
  if (id === undefined || !fits || !isText.test(context.cwd)) return {};
  return { submitDirectory: context.cwd, submitDirectoryId: id };
}
