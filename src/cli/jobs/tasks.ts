import { type Command, Option } from "commander";
import { type StateName, stateNames, stateOf } from "../../client/state.ts";
import { limits } from "../../limits.ts";
import { anyOf, jobOrTaskId, wholeNumber } from "../flags.ts";
import { toTaskRow } from "../json.ts";
import { collect } from "../pages.ts";
import { listed, type RowsAnswer } from "../formats/answers.ts";
import { addWatchFlag, rowsKept, watchList, type WatchFlag } from "../live/watch-list.ts";
import { renderTasks, TASKS } from "../render/tasks.ts";
import type { Session, Shell } from "../session.ts";

interface TasksFlags extends WatchFlag {
  readonly state?: readonly StateName[];
  readonly limit: number;
  readonly all?: true;
}

const LIMIT_DEFAULT = 1_000;

export function declareTasks(command: Command, shell: Shell): void {
  addWatchFlag(command)
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
    .addHelpText(
      "after",
      "\nExamples:\n  busbar tasks 17\n  busbar tasks 17 --state failed\n  busbar tasks 17 --watch",
    )
    .action((jobId: string, flags: TasksFlags) =>
      shell.list(command, (session) =>
        flags.watch === true ? watchTasks(session, jobId, flags) : listTasks(session, jobId, flags),
      ),
    );
}

async function listTasks(session: Session, jobId: string, flags: TasksFlags): Promise<RowsAnswer> {
  const { items, more } = await readTasks(session, jobId, flags);
  if (more && session.format === "table") {
    await session.note(`these are the first ${items.length}; see more with --limit or --all`);
  }
  const answer = listed(TASKS, items, more);
  return items.length === 0 ? answer : { ...answer, text: (page) => renderTasks(items, page) };
}

async function readTasks(session: Session, jobId: string, flags: TasksFlags) {
  const client = await session.client();
  const states = (flags.state ?? []).map(stateOf);
  return collect(limitOf(flags), async (pageToken, wanted) => {
    const pageSize = Math.min(wanted, limits.pageSizeMax);
    const page = await client.listTasks({ jobId, states, pageSize, pageToken });
    return { ...page, items: page.tasks.map(toTaskRow) };
  });
}

const limitOf = ({ all, limit }: TasksFlags): number =>
  all === true ? Number.MAX_SAFE_INTEGER : limit;

const watchTasks = (session: Session, jobId: string, flags: TasksFlags): Promise<number> =>
  watchList(session, {
    kind: TASKS,
    following: { jobId, tasks: true },
    async list() {
      const { items: rows, revision } = await readTasks(session, jobId, flags);
      return { rows, revision };
    },
    see: (event) => (event.case === "task" ? { row: toTaskRow(event.value) } : undefined),
    revisionOf: (task) => task.revision,
    choose: (tasks) =>
      tasks
        .filter(
          ({ state }) => flags.state === undefined || flags.state.some((each) => each === state),
        )
        .sort((a, b) => a.index - b.index)
        .slice(0, rowsKept(session, limitOf(flags))),
  });
