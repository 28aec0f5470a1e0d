import { type Command, Option } from "commander";
import { type StateName, stateNames, stateOf } from "../../client/state.ts";
import { limits } from "../../limits.ts";
import { anyOf, jobOrTaskId, wholeNumber } from "../flags.ts";
import { toTaskRow } from "../json.ts";
import { collect } from "../pages.ts";
import { renderTasks } from "../render/tasks.ts";
import type { Answer, Session, Shell } from "../session.ts";

interface TasksFlags {
  readonly state?: readonly StateName[];
  readonly limit: number;
  readonly all?: true;
}

const LIMIT_DEFAULT = 1_000;

export function declareTasks(command: Command, shell: Shell): void {
  command
    .argument("<job>", "the job's id", jobOrTaskId("<job>"))
    .addOption(
      new Option("--state <states>", "only in these states, several with commas")
        .choices(stateNames)
        .argParser(anyOf("--state", stateNames)),
    )
    .option(
      "--limit <n>",
      "list at most this many",
      wholeNumber("--limit", { min: 1, max: limits.arrayTasksMax }),
      LIMIT_DEFAULT,
    )
    .option("--all", "list all, however many")
    .addHelpText("after", "\nExamples:\n  busbar tasks 17\n  busbar tasks 17 --state failed")
    .action((jobId: string, flags: TasksFlags) =>
      shell.run(command, (session) => listTasks(session, jobId, flags)),
    );
}

async function listTasks(session: Session, jobId: string, flags: TasksFlags): Promise<Answer> {
  const client = await session.client();
  const states = (flags.state ?? []).map(stateOf);
  const limit = flags.all === true ? Number.MAX_SAFE_INTEGER : flags.limit;
  const { items, more } = await collect(limit, async (pageToken, wanted) => {
    const pageSize = Math.min(wanted, limits.pageSizeMax);
    const { tasks, nextPageToken } = await client.listTasks({ jobId, states, pageSize, pageToken });
    return { items: tasks.map(toTaskRow), nextPageToken };
  });
  if (more && session.format === "table") {
    await session.note(`these are the first ${items.length}; see more with --limit or --all`);
  }
  return {
    json: more ? { tasks: items, more } : { tasks: items },
    text: (page) => (items.length === 0 ? "no tasks" : renderTasks(items, page)),
  };
}
