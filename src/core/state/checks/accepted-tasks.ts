import type { State } from "../state.ts";
import type { SeenJob } from "./all-jobs.ts";

/** What was handed over is known, and what was told of output is counted. */
export function checkAcceptedTasks({ handed }: State, all: readonly SeenJob[]): string[] {
  const tasks = all.flatMap(({ rows }) => rows);
  const accepted = tasks.filter(({ state: at }) => at.kind === "accepted");
  const known = new Set<unknown>(handed.inOrder());
  const wrong = accepted
    .filter((task) => !known.has(task))
    .map(({ jobId, index }) => `task ${jobId}.${index} was handed over and is not known`);
  if (known.size !== accepted.length) wrong.push(`${known.size} tasks are known to be handed over`);
  const chars = tasks.reduce(
    (sum, { told }) => sum + (told?.stdout.length ?? 0) + (told?.stderr.length ?? 0),
    0,
  );
  if (chars !== handed.toldChars) wrong.push(`${handed.toldChars} characters told, not ${chars}`);
  return wrong;
}
