import { unreachable } from "../../../lib/invariant.ts";
import { flattenTasks } from "../flatten.ts";
import type { Jobspec } from "../model.ts";
import { planFlux } from "./plan-flux.ts";
import { localLine, notesOf, type PlanStep } from "./plan-lines.ts";
import { planSlurm } from "./plan-slurm.ts";

export const planTargets = ["process", "flux", "slurm"] as const;
export type PlanTarget = (typeof planTargets)[number];

/**
 * The steps of a jobspec in order, as lines for a POSIX shell. Together the lines are a script that
 * runs the commands here, or submits them. Throws AppError for steps that the target cannot
 * express.
 */
export function plan(jobspec: Jobspec, target: PlanTarget): readonly PlanStep[] {
  switch (target) {
    case "process":
      return flattenTasks(jobspec).map((flat) => ({
        name: flat.task.path,
        after: flat.dependsOn,
        notes: notesOf(flat.task),
        line: localLine(flat.task, flat.attributes),
      }));
    case "flux":
      return planFlux(jobspec);
    case "slurm":
      return planSlurm(jobspec);
    default:
      return unreachable(target);
  }
}

/** The whole plan as a script: it stops at the first line that fails. */
export function toScript(steps: readonly PlanStep[]): string {
  const parts = steps.map(({ name, after, notes, line }) => {
    const title = after.length === 0 ? name : `${name}, after ${after.join(", ")}`;
    return [...[title, ...notes].map((text) => `# ${text.replaceAll(/\s+/g, " ")}`), line].join(
      "\n",
    );
  });
  return ["#!/bin/sh", "set -e", ...parts].join("\n");
}
