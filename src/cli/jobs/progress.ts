import type { Command } from "commander";
import { parseProgressLine } from "../../core/model/job/task-progress.ts";
import { AppError, invalid } from "../../lib/errors.ts";
import { jobOrTaskId, wholeNumber } from "../flags.ts";
import { toTaskRow } from "../json.ts";
import { progressText } from "../render/values.ts";
import type { Answer, Session, Shell } from "../session.ts";

interface ProgressFlags {
  readonly task?: string;
  readonly attempt?: number;
}

/** The variable with the path of a task's file: see src/agent/runs/progress/progress-files.ts. */
const FILE_VARIABLE = "BUSBAR_PROGRESS_FILE";

export function declareProgress(command: Command, shell: Shell): void {
  command
    .argument(
      "<percent>",
      "progress of the task in percent: 0 to 100, decimals allowed",
      readPercent,
    )
    .argument("[message...]", "a few words, shown beside it")
    .option(
      "--task <id>",
      "report to the server for this task (default: the task that runs this command)",
      jobOrTaskId("--task"),
    )
    .option(
      "--attempt <n>",
      "reject the report if this is not the current attempt; with --task",
      wholeNumber("--attempt", { min: 1, max: 2 ** 31 - 1 }),
    )
    .addHelpText(
      "after",
      `
Inside a task this command writes a line to the file $BUSBAR_PROGRESS_FILE, which the agent reads. It needs
neither a server nor credentials. A script can do the same: echo "40 step 3" > "$BUSBAR_PROGRESS_FILE"

Examples:
  busbar progress 40 step 3
  busbar progress 99.5
  busbar progress 40 "step 3" --task 17.3`,
    )
    .action((percent: number, words: readonly string[], flags: ProgressFlags) =>
      shell.run(command, (session) => report(session, percent, words.join(" "), flags)),
    );
}

function readPercent(text: string): number {
  const progress = parseProgressLine(text);
  if (progress === undefined || progress.message !== "") {
    throw invalid("<percent>", `${JSON.stringify(text)} is not a number from 0 to 100`);
  }
  return progress.percent;
}

async function report(
  session: Session,
  percent: number,
  message: string,
  { task: id, attempt }: ProgressFlags,
): Promise<Answer> {
  if (id !== undefined) {
    const client = await session.client();
    const task = toTaskRow(await client.reportProgress({ id, percent, message, attempt }));
    return { json: task, text: () => `task ${id} is at ${progressText(task)}` };
  }
  if (attempt !== undefined) throw invalid("--attempt", "needs --task beside it");
  const { context } = session;
  const file = context.env[FILE_VARIABLE];
  if (file === undefined || file === "") {
    throw new AppError(
      "invalid_argument",
      `this command does not run inside a task (${FILE_VARIABLE} is not set); name a task with --task`,
    );
  }
  const line = `${percent} ${message.replaceAll(/[\r\n]+/g, " ")}`.trimEnd();
  await context.replaceFile(file, `${line}\n`);
  return { json: { percent, ...(message === "" ? {} : { message }) }, text: () => "" };
}
