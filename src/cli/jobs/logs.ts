import type { Command } from "commander";
import type { Job } from "../../client/messages.ts";
import { invalid } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { jobOrTaskId, wholeNumber } from "../flags.ts";
import { copyOutput, createCollector, type StreamName, tailLines, type Write } from "../output.ts";
import type { Answer, Session, Shell } from "../session.ts";

export interface LogsFlags {
  readonly follow?: true;
  readonly stdout?: true;
  readonly stderr?: true;
  readonly attempt: number;
  readonly failed?: true;
  readonly tail?: number;
}

export function declareLogs(command: Command, shell: Shell): void {
  command
    .argument(
      "<id>",
      "a job (17: all of its tasks) or a task of an array (17.3)",
      jobOrTaskId("<id>"),
    )
    .option("-f, --follow", "continue until it has ended")
    .option("--stdout", "only standard output")
    .option("--stderr", "only standard error, printed to standard output")
    .option("--failed", "only of tasks that failed")
    .option(
      "--tail <n>",
      "only the last lines of each stream",
      wholeNumber("--tail", { min: 0, max: 1_000_000 }),
    )
    .option(
      "--attempt <n>",
      "the output of this attempt; 0: the latest",
      wholeNumber("--attempt", { min: 0, max: 1_000_000 }),
      0,
    )
    .addHelpText(
      "after",
      `
Prints what the task wrote, unchanged: its standard output to standard output, its standard error to
standard error. With --follow both are printed as they arrive; for earlier output and ended tasks standard output comes
first, because their order is not recorded. The lines of an array begin with the task's index: "[3] ". With --output json:
one value with the task, one stream (stdout unless --stderr) and its text; for an array a list of them.

Examples:
  busbar logs 17
  busbar logs 17.3 --stderr --follow
  busbar logs 17 --failed --tail 20
  busbar logs 17 --attempt 1`,
    )
    .action((id: string, flags: LogsFlags) =>
      shell.run(command, (session) => showLogs(session, id, flags)),
    );
}

async function showLogs(session: Session, id: string, flags: LogsFlags): Promise<Answer | number> {
  if (flags.follow === true && flags.tail !== undefined)
    throw invalid("--tail", "cannot be combined with --follow");
  if (flags.stdout === true && flags.stderr === true)
    throw invalid("--stderr", "cannot be combined with --stdout: leave both out");
  const client = await session.client();
  const job = await client.getJob({ id: id.split(".", 1)[0] ?? id });
  const isWhole = !id.includes(".") && job.spec?.array !== undefined;
  if (isWhole) {
    const { showArrayLogs } = await import("./array-logs.ts");
    return showArrayLogs(session, job, flags);
  }
  return showTaskLogs(session, id, job, flags);
}

async function showTaskLogs(
  session: Session,
  taskId: string,
  job: Job,
  flags: LogsFlags,
): Promise<Answer | number> {
  const { attempt, tail } = flags;
  const { signal } = new AbortController();
  const what = { taskId, attempt, follow: flags.follow === true };
  if (session.format === "json") {
    const stream: StreamName = flags.stderr === true ? "stderr" : "stdout";
    const collected = createCollector(limits.outputKeptBytesMax);
    const lines = tailed(tail, collected.write);
    const { truncated } = await copyOutput(session, { ...what, stream }, lines.write, signal);
    await lines.end();
    return { json: { taskId, stream, text: collected.text(), truncated }, text: () => "" };
  }
  const copy = async (stream: StreamName): Promise<void> => {
    const lines = tailed(tail, sinkOf(session, stream, flags));
    const { truncated } = await copyOutput(session, { ...what, stream }, lines.write, signal);
    await lines.end();
    if (truncated) await session.note(`the ${stream} of ${taskId} is cut: it exceeded its limit`);
    await tellFile(session, job, stream);
  };
  if (flags.follow === true) await Promise.all(streamsOf(flags).map(copy));
  else for (const stream of streamsOf(flags)) await copy(stream);
  return 0;
}

export const streamsOf = ({ stdout, stderr }: LogsFlags): readonly StreamName[] =>
  stderr === true ? ["stderr"] : stdout === true ? ["stdout"] : ["stdout", "stderr"];

/** A stream that the user requested alone goes to stdout, so that it can be piped. */
export function sinkOf({ context }: Session, stream: StreamName, { stderr }: LogsFlags): Write {
  const sink = stream === "stderr" && stderr !== true ? context.stderr : context.stdout;
  return (data) => sink.write(data);
}

export const tailed = (tail: number | undefined, write: Write) =>
  tail === undefined ? { write, end: async () => undefined } : tailLines(tail, write);

/** Output that went to a file of the node is not here. */
export async function tellFile(session: Session, { spec }: Job, stream: StreamName): Promise<void> {
  const file = stream === "stdout" ? spec?.stdoutFile : spec?.stderrFile;
  if (file !== undefined) await session.note(`the ${stream} went to ${file} on the node`);
}
