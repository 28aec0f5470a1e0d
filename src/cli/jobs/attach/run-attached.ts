import type { JobSubmissionInit } from "../../../client/messages.ts";
import { AppError } from "../../../lib/errors.ts";
import type { InputSource } from "../../context.ts";
import type { Session } from "../../session.ts";
import { toSubmission } from "../../submit/job-flags.ts";
import { Attachment } from "./attachment.ts";
import { type Attach, attachFields, type RunFlags, wordsOf } from "./run-flags.ts";

/** The job that flags and words describe, and how this command is attached to it. */
export async function toAttachedSubmission(
  session: Session,
  words: readonly string[],
  flags: RunFlags,
  attach: Attach | undefined,
): Promise<JobSubmissionInit> {
  const all = wordsOf(words, attach, flags);
  const fields = attach && attachFields(all, attach, flags, session.context);
  return await toSubmission(flags, all, session, fields);
}

/** Adds to an error about implicit input how to avoid it. */
export function refuseInput(error: unknown, attach: Attach | undefined): never {
  const isRefused =
    error instanceof AppError && ["unschedulable", "unprocessable"].includes(error.code);
  if (!isRefused || attach?.kind !== "stdin" || attach.isAsked) throw error;
  const { code, message } = error;
  const hint =
    "standard input is a pipe, which busbar run passes on; -n (--no-stdin) runs without it";
  throw new AppError(code, `${message}; ${hint}`, {
    cause: error,
    field: error.field,
    saysWhere: true,
  });
}

/** Checked before the submission: there may be no terminal. */
export const openSource = ({ context }: Session, attach: Attach): InputSource =>
  context.openInput(attach.kind === "terminal" ? "-" : attach.path);

export function openAttachment(
  session: Session,
  jobId: string,
  { attach, source }: { readonly attach: Attach; readonly source: InputSource },
  stop: AbortController,
): Attachment {
  return new Attachment(session, {
    source,
    terminal: attach.kind === "terminal" ? session.context.terminal : undefined,
    onFailure: (problem) => void giveUp(session, jobId, problem),
    onUnwritable: (error) => stop.abort(error),
  });
}

/** A task without all of its input must not appear to have succeeded. */
async function giveUp(session: Session, id: string, problem: string): Promise<void> {
  try {
    await session.note(`job ${id} is cancelled: ${problem}`);
    const client = await session.client();
    await client.cancelJob({ id, reason: problem });
  } catch (error) {
    const { message } = AppError.from(error, "cancel");
    await session.note(`could not cancel job ${id}: ${message}`).catch(() => undefined);
  }
}
