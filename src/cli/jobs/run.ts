import type { Command } from "commander";
import type { JobSubmissionInit } from "../../client/messages.ts";
import { isEnded } from "../../client/state.ts";
import { limits } from "../../limits.ts";
import { isBrokenPipe } from "../failure.ts";
import { followEvents } from "./follow.ts";
import { addJobFlags } from "../submit/job-flags.ts";
import { addRunFlags, attachOf, refuseHold, type RunFlags } from "./attach/run-flags.ts";
import {
  openAttachment,
  openSource,
  refuseInput,
  toAttachedSubmission,
} from "./attach/run-attached.ts";
import { toJobRow, toSubmittedRow } from "../json.ts";
import { createCollector } from "../output.ts";
import type { JobRow, SubmittedRow } from "../rows.ts";
import { createOutputs, type Outputs } from "./run-output.ts";
import { cancelOnInterrupt, type Interrupts } from "./run-interrupt.ts";
import type { Answer, Session, Shell } from "../session.ts";
import { warn } from "../submit/submit.ts";
import { endedAtOnce, type Input, submitInput } from "../submit/submit-input.ts";

/** A job that is pending for longer than this is explained. */
const EXPLAIN_AFTER_MS = 1_000;

const HELP = `
Exits with the job's exit code, 128 and the signal's number if a signal ended it. The first Ctrl-C
cancels the job and waits for its end, the second leaves at once.
The lines of an array begin with the task's index: "[3] ". With --output json nothing is streamed:
the ended job and its output are one value.

A pipe or a file as standard input is passed on to a single task; --stdin names another. In a loop
like \`while read line; do busbar run ...; done\` add -n, or the first run reads the lines of the loop.
With --pty all keys go to the task, Ctrl-C too; the terminal is restored at the end.

Examples:
  busbar run -- echo hello
  echo hello | busbar run -- cat
  busbar run --stdin in.dat -- sha256sum
  busbar run --pty --node gpu1
  busbar run --cpu 4 --memory 8GiB --time-limit 10m -- make test
  busbar run --array 0-3 -- sh -c 'hostname'`;

export function declareRun(command: Command, shell: Shell): void {
  command
    .usage("[options] [--] <command...>")
    .argument("[command...]", "the program and its arguments")
    .passThroughOptions(); // words after the program's name belong to the program
  addJobFlags(command, shell.context);
  addRunFlags(command);
  command
    .addHelpText("after", HELP)
    .action((words: readonly string[], flags: RunFlags) =>
      shell.run(command, (session) => run(session, words, flags)),
    );
}

async function run(session: Session, words: readonly string[], flags: RunFlags): Promise<Answer> {
  const attach = attachOf(flags, session.context, session.format === "json");
  const job = await toAttachedSubmission(session, words, flags, attach);
  refuseHold(job);
  const given = attach && { attach, source: openSource(session, attach) };
  const allowUnsatisfiable = flags.allowUnsatisfiable === true;
  const input: Input = { kind: "jobs", jobs: [job], allowUnsatisfiable };
  const client = await session.client();
  const { jobs, revision } = await submitInput(client, input).catch((error: unknown) =>
    refuseInput(error, attach),
  );
  const [submitted = { id: "", existed: false }] = jobs.map(toSubmittedRow);
  await warn(session, [submitted]);
  await tellFileOfScript(session, flags, job.spec);
  const stop = new AbortController();
  const interrupts = cancelOnInterrupt(session, submitted.id);
  const { sinks, json } = sinksOf(session);
  const attachment = given && openAttachment(session, submitted.id, given, stop);
  const outputs = createOutputs(session, {
    sinks,
    prefixed: flags.array !== undefined,
    stop,
    ...(attach?.kind === "terminal" && { streams: ["stderr"] }),
    ...(attachment && { onStarted: (task) => attachment.begin(task.id, task.attempt) }),
  });
  try {
    void explainLater(session, submitted.id, outputs, stop.signal);
    // No event of a new job can have been missed; events of an existing job, or of one skipped at once, can.
    const isSure = endedAtOnce(input, [submitted]).length === 0;
    const following = { submitted, isSure, revision, outputs, signal: stop.signal };
    const ended = await followToEnd(session, following);
    await attachment?.finish();
    await outputs.drain();
    await tellOutcome(session, ended);
    const code = exitCodeOf(ended, interrupts);
    const exitCode = code === 0 && outputs.isIncomplete() ? 1 : code;
    return { json: json(ended), text: () => "", exitCode };
  } catch (error) {
    // The reader has closed the output; a program started by hand would have died by SIGPIPE.
    const { id } = submitted;
    if (isBrokenPipe(error))
      await client.cancelJob({ id, reason: "its reader has closed the pipe" });
    throw error;
  } finally {
    interrupts.undo();
    attachment?.close();
    stop.abort();
  }
}

/** A script may name a file for its output, which a user of `run` expects to see. */
async function tellFileOfScript(
  session: Session,
  { stdout }: RunFlags,
  spec: JobSubmissionInit["spec"],
): Promise<void> {
  const file = spec?.stdoutFile;
  if (file === undefined || file === stdout) return;
  await session.note(`standard output goes to ${file} on the node, as the script says`);
}

/** People see output as it arrives; a JSON value holds all of it. */
function sinksOf({ context, format }: Session) {
  const { stdout, stderr } = context;
  if (format === "table") {
    return {
      sinks: {
        stdout: (data: Uint8Array) => stdout.write(data),
        stderr: (data: Uint8Array) => stderr.write(data),
      },
      json: () => undefined,
    };
  }
  const out = createCollector(limits.outputBytesDefault);
  const error = createCollector(limits.outputBytesDefault);
  return {
    sinks: { stdout: out.write, stderr: error.write },
    json: (job: JobRow) => ({ job, stdout: out.text(), stderr: error.text() }),
  };
}

interface Run {
  readonly submitted: SubmittedRow;
  /** Nothing can have happened to it by `revision`. */
  readonly isSure: boolean;
  readonly revision: bigint;
  readonly outputs: Outputs;
  readonly signal: AbortSignal;
}

/** Opens the output of every attempt that starts; resolves with the job as it ended. */
export async function followToEnd(session: Session, run: Run): Promise<JobRow> {
  const { submitted, outputs, signal } = run;
  const client = await session.client();
  const { id } = submitted;
  const following = { jobId: id, jobs: true, tasks: true, afterRevision: run.revision };
  let sure = run.isSure; // until the connection is lost
  for await (const { event } of followEvents(session, following, { signal })) {
    if (event.case === "task") outputs.see(event.value);
    if (event.case === "sync" || event.case === "ask") {
      if (event.case === "ask") sure = false;
      // Reads the job first: once it has ended, no task can start after the answer about tasks.
      const job = sure ? undefined : await client.getJob({ id });
      if (!sure) await seeAllTasks(session, id, outputs);
      if (job !== undefined && isEnded(job.state)) return toJobRow(job);
      sure = false;
    }
    if (event.case === "job" && isEnded(event.value.state)) {
      // A busy server may merge single events; that must not lose output.
      if (outputs.opened() < Number(event.value.taskTotal)) await seeAllTasks(session, id, outputs);
      return toJobRow(event.value);
    }
  }
  throw signal.reason;
}

async function seeAllTasks(session: Session, jobId: string, outputs: Outputs): Promise<void> {
  const client = await session.client();
  let pageToken: string | undefined;
  do {
    const page = await client.listTasks({ jobId, pageSize: limits.pageSizeMax, pageToken });
    for (const task of page.tasks) outputs.see(task);
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined);
}

/** Prints once why the job is pending. A failed explanation is not worth an error. */
async function explainLater(
  session: Session,
  id: string,
  outputs: Outputs,
  signal: AbortSignal,
): Promise<void> {
  try {
    await session.context.sleep(EXPLAIN_AFTER_MS, signal);
    if (signal.aborted || outputs.opened() > 0) return;
    const client = await session.client();
    const { summary, hints, cheapestChange } = await client.explainJob({ id }, { signal });
    if (signal.aborted || outputs.opened() > 0) return;
    await session.note(`job ${id} is waiting: ${summary}`);
    if (cheapestChange !== undefined) await session.note(`  cheapest change: ${cheapestChange}`);
    for (const hint of hints) await session.note(`  ${hint}`);
  } catch {
    // The job itself shows how it continues.
  }
}

async function tellOutcome(session: Session, job: JobRow): Promise<void> {
  if (job.state === "succeeded" || session.format === "json") return;
  const why = job.reason === undefined ? "" : `: ${job.reason}`;
  // An exit code needs no message, as when the program is run by hand.
  if (job.state !== "failed" || why !== "") await session.note(`job ${job.id} ${job.state}${why}`);
}

function exitCodeOf(job: JobRow, interrupts: Interrupts): number {
  if (job.state === "succeeded") return 0;
  if (interrupts.count() > 0 && job.state === "cancelled") return 130;
  const code = job.exitCode ?? 0;
  return code > 0 && code < 256 ? code : 1;
}
