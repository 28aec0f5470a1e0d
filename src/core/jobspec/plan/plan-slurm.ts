import { commandLine, joinShell, quoteShell } from "../../../lib/shell.ts";
import { type FlatTask, flattenTasks } from "../flatten.ts";
import type { Jobspec } from "../model.ts";
import {
  argvOfTask,
  localLine,
  notesOf,
  type PlanStep,
  variableNames,
  variablesOf,
} from "./plan-lines.ts";
import { slurmShapeFlags, slurmTime } from "./slurm-flags.ts";
import { stepShapeOf } from "../write/to-steps.ts";

/**
 * One sbatch for each task. Slurm has no jobs inside jobs, so groups become tasks with
 * dependencies.
 */
export function planSlurm(jobspec: Jobspec): readonly PlanStep[] {
  const tasks = flattenTasks(jobspec);
  const variables = variableNames(tasks.map(({ task }) => task.path));
  const local = new Set(tasks.filter(({ task }) => task.isLocal).map(({ task }) => task.path));
  return tasks.map((flat) => {
    const { task, attributes, dependsOn } = flat;
    // Local tasks have ended before the shell reaches the next line.
    const ids = dependsOn
      .filter((path) => !local.has(path))
      .map((path) => `:"$${variables.get(path) ?? ""}"`);
    const after = ids.length === 0 ? [] : [`--dependency=afterok${ids.join("")}`, ON_FAILURE];
    const line = task.isLocal
      ? [...(after.length === 0 ? [] : [waitLine(after)]), localLine(task, attributes)].join("\n")
      : `${variables.get(task.path) ?? ""}=$(${submitLine(flat, after)})`;
    return { name: task.path, after: dependsOn, notes: notesOf(task), line };
  });
}

/** Otherwise the job would wait forever for one that has failed. */
const ON_FAILURE = "--kill-on-invalid-dep=yes";

const waitLine = (after: readonly string[]): string => `srun --ntasks=1 ${after.join(" ")} true`;

function submitLine({ task, attributes }: FlatTask, after: readonly string[]): string {
  const { durationMs, cwd, environment } = attributes;
  const shape = stepShapeOf(task);
  const flags = [
    `--job-name=${quoteShell(task.path)}`,
    ...slurmShapeFlags(shape),
    ...(durationMs === undefined || durationMs === 0 ? [] : [`--time=${slurmTime(durationMs)}`]),
    ...(cwd === undefined ? [] : [`--chdir=${quoteShell(cwd)}`]),
    ...(task.replicas === 1 ? [] : [`--array=0-${task.replicas - 1}`]),
    ...after,
  ];
  // Passed through the environment: a list in --export could not contain a comma.
  const variables = variablesOf(environment);
  const env = variables.length === 0 ? "" : `${joinShell(["env", ...variables])} `;
  const command = commandLine(argvOfTask(task));
  const wrapped = quoteShell(shape.processes > 1 ? `srun ${command}` : command);
  return `${env}sbatch --parsable ${flags.join(" ")} --wrap=${wrapped}`;
}
