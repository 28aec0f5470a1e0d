import { type Command, Option } from "commander";
import { limits } from "../../limits.ts";
import { oneOf, wholeNumber } from "../flags.ts";
import { toOfferedRow } from "../json.ts";
import { listed, type RowsAnswer } from "../formats/answers.ts";
import { OFFERED } from "../render/offered.ts";
import type { Answer, Session, Shell } from "../session.ts";

const reported = ["running", "succeeded", "failed", "returned"] as const;

const MAX = { min: 1, max: limits.offeredPageMax } as const;

/** How a pull cluster accepts and reports its tasks, from a shell. */
export function declareClusterTasks(command: Command, shell: Shell): void {
  const offered = command
    .command("offered")
    .description("List tasks that are offered to a cluster, oldest first.");
  offered
    .argument("<name>", "the cluster")
    .option("--max <n>", "list at most this many (default: 100)", wholeNumber("--max", MAX))
    .action((name: string, { max }: { readonly max?: number }) =>
      shell.list(offered, (session) => listOffered(session, name, max)),
    );
  const accept = command
    .command("accept")
    .description("Accept tasks in the name of a cluster, which runs them by itself.");
  accept
    .argument("<name>", "the cluster")
    .argument("<task...>", "offered tasks, like 17 or 17.3")
    .addHelpText("after", ACCEPT_HELP)
    .action((name: string, ids: readonly string[]) =>
      shell.run(accept, (session) => acceptTasks(session, name, ids)),
    );
  declareReport(command, shell);
}

const ACCEPT_HELP = `
Only one caller gets a task. Tasks that were accepted, cancelled or withdrawn before are refused, the others are
accepted; the exit code is 1 if some were refused.

Example:
  busbar cluster offered blue && busbar cluster accept blue 17 18.3`;

async function listOffered(
  session: Session,
  cluster: string,
  max: number | undefined,
): Promise<RowsAnswer> {
  const { tasks, total } = await (await session.client()).listOfferedTasks({ cluster, max });
  const rows = tasks.map(toOfferedRow);
  const more = Number(total) - rows.length;
  if (more > 0) await session.note(`and ${more} more; see --max`);
  return { ...listed(OFFERED, rows), json: rows };
}

async function acceptTasks(
  session: Session,
  cluster: string,
  ids: readonly string[],
): Promise<Answer> {
  const client = await session.client();
  const { accepted, refused } = await client.acceptTasks({ cluster, ids: [...ids] });
  for (const { id, reason } of refused) await session.note(`${id} was not accepted: ${reason}`);
  return {
    json: { accepted, refused: refused.map(({ id, reason }) => ({ id, reason })) },
    text: () => accepted.join("\n"),
    ...(refused.length === 0 ? {} : { exitCode: 1 }),
  };
}

interface ReportFlags {
  readonly state: (typeof reported)[number];
  readonly attempt?: number;
  readonly exitCode?: number;
  readonly stdout?: string;
  readonly stderr?: string;
}

function declareReport(command: Command, shell: Shell): void {
  const report = command
    .command("report")
    .description("Report the state of tasks that a cluster accepted.");
  report
    .argument("<name>", "the cluster")
    .argument("<task...>", "accepted tasks, like 17 or 17.3")
    .addOption(
      new Option("--state <state>", "their state; returned: the cluster will not run them")
        .choices(reported)
        .argParser(oneOf("--state", reported))
        .makeOptionMandatory(),
    )
    .option(
      "--attempt <n>",
      "the attempt that the report is about (default: the current one)",
      wholeNumber("--attempt", { min: 1, max: 1_000_000 }),
    )
    .option(
      "--exit-code <n>",
      "exit code of a failed task (default: 1)",
      wholeNumber("--exit-code", { min: 1, max: 255 }),
    )
    .option(
      "--stdout <file>",
      'file with its output, of which the server stores the end ("-": standard input)',
    )
    .option("--stderr <file>", "the same for standard error")
    .addHelpText(
      "after",
      "\nExample:\n  busbar cluster report blue 17 --state failed --exit-code 3",
    )
    .action((name: string, ids: readonly string[], flags: ReportFlags) =>
      shell.run(report, (session) => reportTasks(session, name, ids, flags)),
    );
}

async function reportTasks(
  session: Session,
  cluster: string,
  ids: readonly string[],
  { stdout, stderr, ...told }: ReportFlags,
): Promise<Answer> {
  const read = async (file: string | undefined): Promise<string | undefined> =>
    file === undefined
      ? undefined
      : (await session.context.readInput(file, limits.messageBytesMax))
          .toString("utf8")
          .slice(-limits.reportedOutputCharsMax);
  const outputs = { stdout: await read(stdout), stderr: await read(stderr) };
  const reports = ids.map((id) => ({ id, ...told, ...outputs }));
  const { unwanted } = await (await session.client()).reportTasks({ cluster, reports });
  for (const id of unwanted)
    await session.note(`${id} is no longer assigned to this cluster: stop it there`);
  return {
    json: { unwanted },
    text: () => `reported ${ids.length === 1 ? "1 task" : `${ids.length} tasks`}`,
  };
}
