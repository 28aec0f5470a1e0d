import { joinShell, quoteShell } from "../../../lib/shell.ts";
import { effectiveAttributes } from "../attributes.ts";
import type { Attributes, Jobspec, JobspecItem, JobspecTask, TaskGroup } from "../model.ts";
import { inOrder, siblingOrder } from "../order.ts";
import {
  argvOfTask,
  localLine,
  notesOf,
  type PlanStep,
  variableNames,
  variablesOf,
} from "./plan-lines.ts";
import { groupShapeOf, type StepShape, stepShapeOf } from "../write/to-steps.ts";

/**
 * One flux submit for each task, and one flux batch for each group, whose script submits the tasks
 * of the group.
 */
export const planFlux = (jobspec: Jobspec): readonly PlanStep[] =>
  planItems(jobspec, jobspec.items, []);

/**
 * Sibling tasks and groups. A dependency of an item inside a group on one outside becomes a
 * dependency of the whole group: job ids of the outer Flux instance are unknown in its own
 * instance.
 */
function planItems(
  jobspec: Jobspec,
  items: readonly JobspecItem[],
  around: readonly TaskGroup[],
): readonly PlanStep[] {
  const order = siblingOrder(items);
  const variables = variableNames(items.map(({ path }) => path));
  const needed = new Set([...order.values()].flat());
  return inOrder(items).map((item) => {
    const before = order.get(item) ?? [];
    const ids = before.filter((each) => !isLocal(each)).map((each) => idsOf(each, variables));
    const attributes = effectiveAttributes(jobspec, [...around, item]);
    const step = { name: item.path, after: before.map(({ path }) => path) };
    if (item.kind === "task" && item.isLocal) {
      const wait = ids.map(({ value }) => `flux job status ${value}`);
      const line = [...wait, localLine(item, attributes)].join("\n");
      return { ...step, notes: [], line };
    }
    const after = ids.map(({ flag }) => flag);
    const line =
      item.kind === "task"
        ? submitLine(item, attributes, [
            ...after,
            ...(around.length > 0 ? ["--flags=waitable"] : []),
          ])
        : batchLine(jobspec, item, [...around, item], { attributes, after });
    return {
      ...step,
      notes: notesOf(item),
      line: needed.has(item) ? `${variables.get(item.path) ?? ""}=$(${line})` : line.trimEnd(),
    };
  });
}

const isLocal = (item: JobspecItem): boolean => item.kind === "task" && item.isLocal;

/** A task with replicas is several jobs: the variable holds all of their ids. */
export function idsOf(item: JobspecItem, variables: ReadonlyMap<string, string>) {
  const variable = `$${variables.get(item.path) ?? ""}`;
  const quoted = `"${variable}"`;
  if (item.kind === "group" || item.replicas === 1) {
    return { flag: `--dependency=afterok:${quoted}`, value: quoted, quoted };
  }
  return { flag: `$(printf -- '--dependency=afterok:%s ' ${variable})`, value: variable, quoted };
}

export function submitLine(
  task: JobspecTask,
  attributes: Attributes,
  flags: readonly string[],
): string {
  const argv = argvOfTask(task);
  const common = [
    `--job-name=${quoteShell(task.path)}`,
    ...shapeFlags(stepShapeOf(task), "task"),
    ...attributeFlags(attributes),
  ];
  const line = (copies: readonly string[]): string =>
    `flux submit ${[...common, ...copies, ...flags].join(" ")} ${joinShell(argv)}`;
  if (task.replicas === 1) return line([]);
  // With --cc Flux expands text between braces, anywhere.
  const hasBraces = /[{}]/.test(
    [task.path, ...argv, ...Object.values(attributes.environment)].join(" "),
  );
  if (!hasBraces) return line([`--cc=0-${task.replicas - 1}`, "--env=BUSBAR_ARRAY_INDEX={cc}"]);
  const each = line(['--env=BUSBAR_ARRAY_INDEX="$i"']);
  return `i=0 && while [ "$i" -lt ${task.replicas} ]; do ${each} || exit; i=$((i + 1)); done`;
}

/** For a job, or for the slots of an instance in which jobs run. */
const shapeFlags = (shape: StepShape, each: "task" | "slot"): readonly string[] => [
  ...(shape.nodes === undefined ? [] : [`--nodes=${shape.nodes}`]),
  `--n${each}s=${shape.processes}`,
  ...(shape.coresPerProcess > 0 ? [`--cores-per-${each}=${shape.coresPerProcess}`] : []),
  ...(shape.gpusPerProcess > 0 ? [`--gpus-per-${each}=${shape.gpusPerProcess}`] : []),
  ...(shape.isExclusive ? ["--exclusive"] : []),
];

const attributeFlags = ({ durationMs, cwd, environment }: Attributes): readonly string[] => [
  ...(durationMs === undefined || durationMs === 0 ? [] : [`--time-limit=${durationMs / 1_000}s`]),
  ...(cwd === undefined ? [] : [`--cwd=${quoteShell(cwd)}`]),
  // Flux expands variables that begin with a dollar sign; two dollar signs are a literal one.
  ...variablesOf(environment).map((each) => `--env=${quoteShell(each.replaceAll("$", "$$$$"))}`),
];

function batchLine(
  jobspec: Jobspec,
  group: TaskGroup,
  around: readonly TaskGroup[],
  { attributes, after }: { readonly attributes: Attributes; readonly after: readonly string[] },
): string {
  const shape = groupShapeOf(group);
  const flags = [
    `--job-name=${quoteShell(group.path)}`,
    ...shapeFlags(shape, "slot"),
    ...attributeFlags(attributes),
    ...after,
    ...(around.length > 1 ? ["--flags=waitable"] : []),
  ];
  const lines = planItems(jobspec, group.items, around).map(({ line }) => line);
  // Ends when all jobs have ended, and fails if one of them failed.
  const script = ["#!/bin/sh", "set -e", ...lines, "flux job wait --all"].join("\n");
  const end = delimiterFor(script);
  return `flux batch ${flags.join(" ")} <<'${end}'\n${script}\n${end}\n`;
}

/** A line that does not occur in the script. */
function delimiterFor(script: string): string {
  const lines = new Set(script.split("\n"));
  let delimiter = "END";
  for (let number = 2; lines.has(delimiter); number += 1) delimiter = `END${number}`;
  return delimiter;
}
