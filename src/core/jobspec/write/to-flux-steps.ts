import { joinShell } from "../../../lib/shell.ts";
import { effectiveAttributes } from "../attributes.ts";
import { flattenTasks } from "../flatten.ts";
import type { Jobspec, JobspecItem, TaskGroup } from "../model.ts";
import { inOrder, siblingOrder } from "../order.ts";
import { idsOf, submitLine } from "../plan/plan-flux.ts";
import { variableNames } from "../plan/plan-lines.ts";
import { groupShapeOf, stepOf, type WorkloadStep } from "./to-steps.ts";

/**
 * The same as `toSteps` for Flux, which has jobs inside jobs: a group at the top is one step, an
 * instance of Flux with the resources of the group, in which its tasks and those of its inner
 * groups are jobs. A dependency of an inner task on one outside becomes a dependency of the whole
 * group.
 */
export function toFluxSteps(jobspec: Jobspec): readonly WorkloadStep[] {
  const order = siblingOrder(jobspec.items);
  return inOrder(jobspec.items).map((item) => {
    const attributes = effectiveAttributes(jobspec, [item]);
    const dependsOn = (order.get(item) ?? []).map(({ path }) => path);
    if (item.kind === "task") return stepOf({ task: item, attributes, dependsOn });
    return groupStep(jobspec, item, { attributes, dependsOn });
  });
}

function groupStep(
  jobspec: Jobspec,
  group: TaskGroup,
  { attributes, dependsOn }: Pick<Parameters<typeof stepOf>[0], "attributes" | "dependsOn">,
): WorkloadStep {
  const { durationMs, cwd } = attributes;
  return {
    name: group.path,
    after: dependsOn,
    script: scriptOf(jobspec, group),
    launch: "once",
    env: {}, // each task sets its own
    cwd,
    timeLimitMs: durationMs === 0 ? undefined : durationMs,
    shape: groupShapeOf(group),
    copies: 1,
  };
}

/**
 * Submits all tasks, then shows the output of each and gets its exit code, in the order of
 * submission. Flux ends a task whose dependency fails; when the dependency has failed already, Flux
 * rejects the submission. The script then skips that task and its dependents, and continues: the
 * exit code is that of the first task that failed, or of the rejected submission when none did.
 */
function scriptOf(jobspec: Jobspec, group: TaskGroup): string {
  const tasks = flattenTasks({ ...jobspec, items: [group] });
  const byPath = new Map<string, JobspecItem>(tasks.map(({ task }) => [task.path, task]));
  const variables = variableNames([...byPath.keys()]);
  const submits = tasks.map(({ task, attributes, dependsOn }) => {
    const before = dependsOn.flatMap((path) => byPath.get(path) ?? []);
    const flags = before.map((each) => idsOf(each, variables).flag);
    const submitted = before.map((each) => `[ -n ${idsOf(each, variables).quoted} ] && `).join("");
    const variable = variables.get(task.path) ?? "";
    const line = submitLine(task, attributes, flags);
    return `${submitted}${variable}=$(${line}) || busbar_rejected=$?`;
  });
  const shows = tasks.map(({ task }) => {
    const name = joinShell([task.path.replaceAll(/\s+/g, " ")]);
    return `busbar_show ${name} $${variables.get(task.path) ?? ""}`;
  });
  return `${["#!/bin/sh", BEGIN, ...submits, ...shows, END].join("\n")}\n`;
}

const BEGIN = `busbar_code=0 busbar_rejected=0
busbar_show() {
  printf '== %s\\n' "$1"
  shift
  [ $# -gt 0 ] || echo 'Flux rejected the submission, or that of a task it depends on' >&2
  for busbar_id in "$@"; do
    flux job attach "$busbar_id" || { busbar_last=$?; [ "$busbar_code" -ne 0 ] || busbar_code=$busbar_last; }
  done
}`;

const END = `[ "$busbar_code" -ne 0 ] || busbar_code=$busbar_rejected
exit "$busbar_code"`;
