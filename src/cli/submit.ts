import { basename } from "node:path";
import type { Command } from "commander";
import type { BusbarClient } from "../client/client.ts";
import type { JobSubmissionInit, SubmitJobsResponse } from "../client/messages.ts";
import { invalid, withoutFieldPrefix } from "../lib/errors.ts";
import { limits } from "../limits.ts";
import { addJobFlags, type JobFlags, toSubmission } from "./job-flags.ts";
import { toSubmittedRow } from "./json.ts";
import type { SubmittedRow } from "./rows.ts";
import type { Answer, Session, Shell } from "./session.ts";

interface SubmitFlags extends JobFlags {
  readonly file?: string;
  readonly wait?: true;
  readonly quiet?: true;
}

/** Whatever else is said about a job must be said in the file. */
const WITH_FILE: readonly string[] = ["file", "wait", "quiet", "server", "output"];

const HELP = `
A file of jobs is YAML or JSON: one job, a list of jobs, or several documents. Its keys are name,
group, labels, command, script, env, cwd, resources, placement, array, priority, retries,
timeLimit, killGrace, queueDeadline, outputLimit, dependsOn and idempotencyKey:

  name: train
  command: [python3, train.py]
  resources: { cpu: 2, memory: 4GiB }
  timeLimit: 1h30m
  retries: 3
  dependsOn: [prepare, { afterany: cleanup }]

Each task of an array finds its index in its environment.

Examples:
  busbar submit -- make -j4
  busbar submit --array 0-99 --cpu 0.5 --retries 2 -- ./step.sh
  busbar submit --after-ok build,test -- make ship
  busbar submit --file jobs.yaml --wait
  id=$(busbar submit --quiet -- ./long.sh)`;

export function declareSubmit(command: Command, shell: Shell): void {
  command
    .usage("[options] [--] <command...>")
    .argument("[command...]", "the program and its arguments")
    .passThroughOptions() // what follows the program's name belongs to the program
    .option("--file <file>", 'submit the jobs in this file ("-": standard input)')
    .option("--wait", "wait until all have ended; exit 1 unless all succeeded")
    .option("-q, --quiet", "print only the ids");
  addJobFlags(command, shell.context);
  command
    .addHelpText("after", HELP)
    .action((words: readonly string[], flags: SubmitFlags) =>
      shell.run(command, (session) => submit(session, words, flags)),
    );
}

async function submit(
  session: Session,
  words: readonly string[],
  flags: SubmitFlags,
): Promise<Answer> {
  const submissions =
    flags.file === undefined
      ? [await toSubmission(flags, words, session.context)]
      : await readFile(session, words, flags, flags.file);
  const client = await session.client();
  const { jobs, revision } = await submitAll(client, submissions);
  const rows = jobs.map(toSubmittedRow);
  await warn(session, rows);
  if (flags.wait !== true) {
    return {
      json: { jobs: rows, revision: Number(revision) },
      text: () => rows.map((row) => (flags.quiet === true ? row.id : describe(row))).join("\n"),
    };
  }
  // People see the ids at once: the wait may be long.
  if (session.format === "table") {
    const lines = rows.map((row) => `${flags.quiet === true ? row.id : describe(row)}\n`);
    await session.context.stdout.write(lines.join(""));
  }
  const { waitForJobs } = await import("./wait.ts");
  const mayHaveEnded = rows
    .filter(({ existed }, at) => existed === true || hasDependencies(submissions[at]))
    .map(({ id }) => id);
  const ended = await waitForJobs(session, rows, { revision, mayHaveEnded });
  const good = ended.every((job) => job.state === "succeeded");
  return { json: { jobs: ended }, text: () => "", exitCode: good ? 0 : 1 };
}

/** Such a job may be skipped as soon as it is submitted; all others end after the answer. */
export const hasDependencies = (submission: JobSubmissionInit | undefined): boolean =>
  (submission?.spec?.dependsOn ?? []).length > 0;

/** An error in the only job is told without counting it. */
export async function submitAll(
  client: BusbarClient,
  submissions: readonly JobSubmissionInit[],
): Promise<SubmitJobsResponse> {
  try {
    return await client.submitJobs({ jobs: [...submissions] });
  } catch (error) {
    throw submissions.length === 1 ? withoutFieldPrefix(error, "jobs[0].") : error;
  }
}

const describe = (row: SubmittedRow): string =>
  row.existed === true ? `job ${row.id} (submitted before)` : `job ${row.id}`;

/** The same warning for many jobs is said once. */
export async function warn(session: Session, rows: readonly SubmittedRow[]): Promise<void> {
  const jobsByWarning = new Map<string, string[]>();
  for (const { id, warning } of rows) {
    if (warning === undefined) continue;
    jobsByWarning.set(warning, [...(jobsByWarning.get(warning) ?? []), id]);
  }
  for (const [warning, [first = "", ...others]] of jobsByWarning) {
    const more = others.length === 0 ? "" : ` (and ${others.length} more)`;
    await session.note(`warning: job ${first}${more}: ${warning}`);
  }
}

async function readFile(
  session: Session,
  words: readonly string[],
  flags: SubmitFlags,
  file: string,
): Promise<readonly JobSubmissionInit[]> {
  const also = Object.keys(flags).find((name) => !WITH_FILE.includes(name));
  if (words.length > 0) throw invalid("--file", "cannot be combined with a command");
  if (also !== undefined) {
    const flag = also.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw invalid(`--${flag}`, "cannot be combined with --file; write it into the file");
  }
  const content = await session.context.readInput(file, limits.messageBytesMax);
  const { parseJobFile } = await import("./job-file.ts");
  return parseJobFile(content.toString("utf8"), file === "-" ? "stdin" : basename(file));
}
