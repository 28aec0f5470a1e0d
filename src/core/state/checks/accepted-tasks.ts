import type { State } from "../state.ts";
import type { SeenJob } from "./all-jobs.ts";

/** The index contains all accepted tasks, and the sum of their reported output is right. */
export function checkAcceptedTasks({ acceptedTasks }: State, all: readonly SeenJob[]): string[] {
  const tasks = all.flatMap(({ rows }) => rows);
  const accepted = tasks.filter(({ state: at }) => at.kind === "accepted");
  const known = new Set<unknown>(acceptedTasks.inOrder());
  const wrong = accepted
    .filter((task) => !known.has(task))
    .map(({ jobId, index }) => `task ${jobId}.${index} was accepted and is not in the index`);
  if (known.size !== accepted.length)
    wrong.push(`${known.size} tasks are in the index of accepted tasks`);
  const chars = tasks.reduce(
    (sum, { told }) => sum + (told?.stdout.length ?? 0) + (told?.stderr.length ?? 0),
    0,
  );
  if (chars !== acceptedTasks.reportedChars)
    wrong.push(`${acceptedTasks.reportedChars} characters reported, not ${chars}`);
  return wrong;
}
