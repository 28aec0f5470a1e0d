import type { Command } from "commander";
import { limits } from "../../limits.ts";
import { jobOrTaskId, wholeNumber } from "../flags.ts";
import { copyOutput, createCollector, type StreamName } from "../output.ts";
import type { Answer, Session, Shell } from "../session.ts";

interface LogsFlags {
  readonly follow?: true;
  readonly stderr?: true;
  readonly attempt: number;
}

export function declareLogs(command: Command, shell: Shell): void {
  command
    .argument(
      "<task>",
      "a job of one task (17) or a task of an array (17.3)",
      jobOrTaskId("<task>"),
    )
    .option("-f, --follow", "go on until the task has ended")
    .option("--stderr", "print its standard error instead of its standard output")
    .option(
      "--attempt <n>",
      "that of an earlier attempt; 0: the latest",
      wholeNumber("--attempt", { min: 0, max: 1_000_000 }),
      0,
    )
    .addHelpText(
      "after",
      `
Prints what the task wrote, unchanged, to standard output. With --output json: one value with the
task, the stream and its text, also when following.

Examples:
  busbar logs 17
  busbar logs 17.3 --stderr --follow
  busbar logs 17 --attempt 1`,
    )
    .action((taskId: string, flags: LogsFlags) =>
      shell.run(command, (session) => showLogs(session, taskId, flags)),
    );
}

async function showLogs(
  session: Session,
  taskId: string,
  flags: LogsFlags,
): Promise<Answer | number> {
  const stream: StreamName = flags.stderr === true ? "stderr" : "stdout";
  const what = { taskId, stream, attempt: flags.attempt, follow: flags.follow === true };
  const { signal } = new AbortController();
  if (session.format === "json") {
    const collected = createCollector(limits.outputKeptBytesMax);
    const { truncated } = await copyOutput(session, what, collected.write, signal);
    return { json: { taskId, stream, text: collected.text(), truncated }, text: () => "" };
  }
  const { stdout } = session.context;
  const { truncated } = await copyOutput(session, what, (data) => stdout.write(data), signal);
  if (truncated) await session.note(`the ${stream} of ${taskId} is cut: it exceeded its limit`);
  return 0;
}
