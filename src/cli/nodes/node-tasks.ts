import type { BusbarClient } from "../../client/client.ts";
import { type StateName, stateOf } from "../../client/state.ts";
import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { toJobRow, toTaskRow } from "../json.ts";
import type { TaskRow } from "../rows.ts";

/** A task of a node, with the name of its job. */
export interface NodeTaskRow extends TaskRow {
  readonly jobName: string;
}

/** Tasks of at most so many jobs are shown, and so many of one job. */
const JOBS_MAX = 100;
const TASKS_OF_JOB_MAX = 1_000;
/** Jobs whose tasks are requested at once. */
const AT_ONCE = 8;

const THERE: readonly StateName[] = ["running", "stopping", "assigned", "held"];

/** The present tasks of a node: running ones first, then those it holds ahead. Of the newest jobs only; the node itself has the total. */
export async function readNodeTasks(
  client: BusbarClient,
  node: string,
): Promise<readonly NodeTaskRow[]> {
  const states = (["pending", "running"] as const).map(stateOf);
  const filter = { node, states };
  const jobs = [];
  let pageToken: string | undefined;
  do {
    const page = await client.listJobs({ filter, pageSize: JOBS_MAX, pageToken });
    jobs.push(...page.jobs.map(toJobRow));
    pageToken = page.nextPageToken;
  } while (pageToken !== undefined && jobs.length < JOBS_MAX);
  const found: NodeTaskRow[] = [];
  for (let at = 0; at < jobs.length; at += AT_ONCE) {
    const some = jobs.slice(at, at + AT_ONCE);
    const lists = await Promise.all(some.map(({ id }) => tasksOf(client, id)));
    lists.forEach((tasks, index) => {
      const jobName = some[index]?.spec.name ?? "";
      found.push(
        ...tasks.filter((task) => task.node === node).map((task) => ({ ...task, jobName })),
      );
    });
  }
  return found.sort((a, b) => rank(a) - rank(b));
}

const rank = ({ state }: TaskRow): number => THERE.indexOf(state as StateName);

async function tasksOf(client: BusbarClient, jobId: string): Promise<readonly TaskRow[]> {
  const pageSize = Math.min(TASKS_OF_JOB_MAX, limits.pageSizeMax);
  try {
    const { tasks } = await client.listTasks({ jobId, states: THERE.map(stateOf), pageSize });
    return tasks.map(toTaskRow);
  } catch (error) {
    // It ended meanwhile, and was removed.
    if (error instanceof AppError && error.code === "not_found") return [];
    throw error;
  }
}
