import { basename } from "node:path";
import type { BusbarClient } from "../../client/client.ts";
import type {
  JobSubmissionInit,
  SubmitJobspecInit,
  SubmitJobsResponse,
} from "../../client/messages.ts";
import { invalid, withoutFieldPrefix } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { withDirectory } from "./flags/directory-flags.ts";
import { inputText } from "./flags/input-text.ts";
import { checkStdin, flagName, type JobFlags, placementOf, toSubmission } from "./job-flags.ts";
import { selectionOf } from "./select-flags.ts";
import type { TimeoutFlags } from "../changes/wait-timeout.ts";
import type { Session } from "../session.ts";

export interface SubmitFlags extends JobFlags, TimeoutFlags {
  readonly file?: string;
  readonly jobspec?: string;
  readonly dryRun?: true;
  readonly wait?: true;
  readonly quiet?: true;
}

/** The jobs to submit, or to try. */
export type Input =
  | {
      readonly kind: "jobs";
      readonly jobs: readonly JobSubmissionInit[];
      readonly allowUnsatisfiable: boolean;
      /** They were read from a file: flags did not describe them. */
      readonly isFile?: true;
    }
  | { readonly kind: "jobspec"; readonly jobspec: SubmitJobspecInit };

const ALWAYS = [
  "wait",
  "timeout",
  "quiet",
  "dryRun",
  "allowUnsatisfiable",
  "server",
  "output",
] as const;
/** All other fields of a job must be in the file. */
const WITH_FILE: readonly string[] = ["file", ...ALWAYS];
/** Terms for all jobs of a jobspec that are not in it. */
const WITH_JOBSPEC: readonly string[] = [
  "jobspec",
  "group",
  "label",
  "priority",
  "cluster",
  "node",
  "nodeLabel",
  "idempotencyKey",
  "hold",
  "select",
  "selectOptions",
  "parameter",
  ...ALWAYS,
];

export async function readInput(
  session: Session,
  words: readonly string[],
  flags: SubmitFlags,
): Promise<Input> {
  if (flags.dryRun === true) refuseOthers(flags, "--dry-run");
  const allowUnsatisfiable = flags.allowUnsatisfiable === true;
  if (flags.jobspec !== undefined) {
    refuseOthers(flags, "--jobspec", words);
    return { kind: "jobspec", jobspec: await readJobspec(session, flags, flags.jobspec) };
  }
  if (flags.file !== undefined) {
    refuseOthers(flags, "--file", words);
    const jobs = await readFile(session, flags.file);
    return { kind: "jobs", jobs, allowUnsatisfiable, isFile: true };
  }
  const job = await toSubmission(flags, words, session);
  return { kind: "jobs", jobs: [job], allowUnsatisfiable };
}

const REFUSED_WITH = {
  "--file": {
    isRefused: (name: string) => !WITH_FILE.includes(name),
    hint: "; write it into the file",
  },
  "--jobspec": {
    isRefused: (name: string) => !WITH_JOBSPEC.includes(name),
    hint: "; write it into the jobspec",
  },
  "--dry-run": {
    isRefused: (name: string) => name === "wait" || name === "quiet",
    hint: ": nothing is submitted",
  },
} as const;

function refuseOthers(
  flags: SubmitFlags,
  flag: keyof typeof REFUSED_WITH,
  words: readonly string[] = [],
): void {
  const { isRefused, hint } = REFUSED_WITH[flag];
  if (words.length > 0) throw invalid(flag, "cannot be combined with a command");
  const also = Object.keys(flags).find(isRefused);
  if (also === undefined) return;
  const isOther = also === "file" || also === "jobspec";
  throw invalid(flagName(also), `cannot be combined with ${flag}${isOther ? "" : hint}`);
}

async function readFile({ context }: Session, file: string): Promise<readonly JobSubmissionInit[]> {
  const advice = "; submit its jobs in several files, or as one array";
  const content = await context.readInput(file, limits.messageBytesMax, advice);
  const { parseJobFile } = await import("./job-file.ts");
  const name = file === "-" ? "stdin" : basename(file);
  const jobs = parseJobFile(inputText(content, "--file"), name, (job) =>
    withDirectory(job, context),
  );
  if (jobs.some(({ spec }) => spec?.attach !== undefined)) {
    throw invalid("attach", "this command passes no input or terminal on; use busbar run");
  }
  return jobs;
}

async function readJobspec(
  { context }: Session,
  flags: SubmitFlags,
  file: string,
): Promise<SubmitJobspecInit> {
  checkStdin(flags);
  const content = await context.readInput(file, limits.messageBytesMax);
  const select = await selectionOf(flags, context);
  return {
    jobspec: content.toString("utf8"),
    group: flags.group,
    labels: { ...flags.label },
    priority: flags.priority,
    placement: placementOf(flags),
    ...(select === undefined ? {} : { select }),
    idempotencyKey: flags.idempotencyKey,
    ...(flags.hold === true && { hold: true }),
    allowUnsatisfiable: flags.allowUnsatisfiable === true,
  };
}

export const submitInput = (client: BusbarClient, input: Input): Promise<SubmitJobsResponse> =>
  refusedInFlags(client, input, () =>
    input.kind === "jobspec"
      ? client.submitJobspec(input.jobspec)
      : client.submitJobs({ jobs: [...input.jobs], allowUnsatisfiable: input.allowUnsatisfiable }),
  );

/**
 * A rejection of a job that was made from flags names these. An error in the only job of a file is reported without its number. An error in a flag
 * beside a jobspec is in all its jobs, and found in the first.
 */
export async function refusedInFlags<Answer>(
  client: BusbarClient,
  input: Input,
  call: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await call();
  } catch (cause) {
    const isCounted = input.kind === "jobs" && input.jobs.length > 1;
    const error = isCounted ? cause : withoutFieldPrefix(cause, "jobs[0].");
    if (input.kind !== "jobs") throw error;
    const { clearerRefusal, clearerRefusalOfFile } = await import("../suggest/clearer-refusal.ts");
    if (input.isFile === true) throw await clearerRefusalOfFile(client, input.jobs, error);
    const spec = input.jobs[0]?.spec;
    throw spec === undefined ? error : await clearerRefusal(client, spec, error);
  }
}

/**
 * The ids of jobs that may have ended before the answer came: they existed, or depend on others and were skipped at once. Only the server
 * knows the dependencies inside a jobspec.
 */
export function endedAtOnce(
  input: Input,
  rows: readonly { readonly id: string; readonly existed?: boolean }[],
): readonly string[] {
  const isUnsure = (existed: boolean | undefined, at: number): boolean =>
    existed === true || input.kind === "jobspec" || mayEndAtOnce(input.jobs[at]);
  return rows.filter(({ existed }, at) => isUnsure(existed, at)).map(({ id }) => id);
}

/**
 * A job that depends on others may be skipped as soon as it is submitted, and one of no energy has succeeded; all others end after the
 * answer.
 */
const mayEndAtOnce = (submission: JobSubmissionInit | undefined): boolean =>
  (submission?.spec?.dependsOn ?? []).length > 0 || submission?.spec?.energy?.wattSeconds === 0n;
