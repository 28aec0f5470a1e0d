import { AppError } from "../../lib/errors.ts";
import type { StateValues } from "../graph/cluster-state.ts";
import type { JobSpecInput } from "../model/job-spec.ts";
import { flattenTasks } from "./flatten.ts";
import type { Jobspec } from "./model.ts";
import { perProcess } from "./split-processes.ts";
import { firstOf, specOf } from "./to-busbar.ts";

/**
 * The tasks of a jobspec as jobs that ask for parts of a graph, in an order in which each comes after
 * those it depends on. Any cluster may take them that has what they ask for. Throws AppError that
 * tells all that cannot be run.
 */
export function toSubmissions(
  jobspec: Jobspec,
  parameters: StateValues = {},
): readonly JobSpecInput[] {
  const reasons: string[] = [];
  const select = Object.keys(parameters).length === 0 ? {} : { select: { parameters } };
  const jobs = flattenTasks(jobspec).flatMap((flat) => {
    const { task } = flat;
    const asksNothing = task.isLocal || task.resources.every((trees) => trees.length === 0);
    const placed = asksNothing ? { copies: task.replicas } : { ...perProcess(task), ...select };
    const refuse = (reason: string): unknown => reasons.push(`${task.path}: ${reason}`);
    // Others could not depend on it: they would be taken to mean a job by its id.
    if (/^\d+(?:\.\d+)?$/.test(task.path)) refuse("a name must not look like the id of a job");
    const spec = specOf(flat, placed, refuse);
    return spec === undefined ? [] : [spec];
  });
  if (reasons.length > 0) throw new AppError("invalid_argument", firstOf(reasons).join("\n"));
  return jobs;
}
