import type { Command } from "commander";
import type { BusbarClient } from "../../client/client.ts";
import { stateOf } from "../../client/state.ts";
import { jobOrTaskId } from "../flags.ts";
import { toJobRow, toTaskRow } from "../json.ts";
import { type RowsAnswer, shownRows } from "../formats/answers.ts";
import { renderJob } from "./render-job.ts";
import { JOBS } from "../render/jobs.ts";
import { renderTask, renderTasks, TASKS } from "../render/tasks.ts";
import type { TaskRow } from "../rows.ts";
import type { Session, Shell } from "../session.ts";

/** The number of tasks in the view of a job; `busbar tasks` shows all. */
const TASKS_SHOWN = 10;

export function declareJob(command: Command, shell: Shell): void {
  command
    .argument("<id>", "a job (17) or one task of an array (17.3)", jobOrTaskId("<id>"))
    .addHelpText(
      "after",
      `
Shows the job, and of its tasks those that failed or run; \`busbar tasks\` lists all.

Examples:
  busbar job 17
  busbar job 17.3
  busbar job 17 --output json`,
    )
    .action((id: string) =>
      shell.list(command, (session) =>
        id.includes(".") ? showTask(session, id) : showJob(session, id),
      ),
    );
}

async function showJob(session: Session, id: string): Promise<RowsAnswer> {
  const client = await session.client();
  const job = toJobRow(await client.getJob({ id }));
  const tasks = await tellingTasks(client, id);
  return {
    json: { ...job, sampleTasks: tasks },
    text: (page) => {
      if (job.taskTotal <= 1 && tasks[0] !== undefined) {
        return `${renderJob(job, page)}\n\n${renderTask(tasks[0], page)}`;
      }
      const table = tasks.length === 0 ? "" : `\n\n${renderTasks(tasks, page)}`;
      return renderJob(job, page) + table;
    },
    rows: shownRows(JOBS, [job]),
  };
}

/** The most interesting tasks first: failed ones, then those under way, then the rest. */
async function tellingTasks(client: BusbarClient, jobId: string): Promise<readonly TaskRow[]> {
  const interesting = [
    ["failed", "expired"],
    ["running", "stopping", "waiting", "offered", "held", "assigned"],
    ["cancelled", "skipped", "succeeded", "pending"],
  ] as const;
  const found: TaskRow[] = [];
  for (const states of interesting) {
    const pageSize = TASKS_SHOWN - found.length;
    if (pageSize <= 0) break;
    const answer = await client.listTasks({ jobId, states: states.map(stateOf), pageSize });
    found.push(...answer.tasks.map(toTaskRow));
  }
  return found.slice(0, TASKS_SHOWN);
}

async function showTask(session: Session, id: string): Promise<RowsAnswer> {
  const client = await session.client();
  const task = toTaskRow(await client.getTask({ id }));
  return {
    json: task,
    text: (page) => renderTask(task, page),
    rows: shownRows(TASKS, [task]),
  };
}
