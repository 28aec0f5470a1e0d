import type { SubmissionInput } from "../../../server/operations/operations.ts";
import { toSubmission } from "../translate.ts";
import type { ReadJobspec } from "./jobspecs.ts";

interface Latest {
  readonly name: string;
  readonly text: string;
  readonly job: SubmissionInput;
}

const latest = new WeakMap<ReadJobspec, Latest>();

/**
 * The job of a jobspec. Users submit the same one again: then this returns the same object, which the server
 * checks once. Remembered with the jobspec, under its latest name.
 */
export function submissionOf(asked: ReadJobspec, name: string, text: string): SubmissionInput {
  const known = latest.get(asked);
  if (known?.name === name && known.text === text) return known.job;
  const job = toSubmission(asked, { name, text });
  latest.set(asked, { name, text, job });
  return job;
}
