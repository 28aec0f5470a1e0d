import { AppError } from "../../lib/errors.ts";
import { limits } from "../../limits.ts";
import { effectiveAttributes } from "./attributes.ts";
import type { Attributes, Jobspec, JobspecItem, JobspecTask, TaskGroup } from "./model.ts";
import { inOrder } from "./order.ts";

/** A task without its groups: it has inherited their attributes and dependencies. */
export interface FlatTask {
  readonly task: JobspecTask;
  readonly attributes: Attributes;
  /** Paths of tasks. */
  readonly dependsOn: readonly string[];
}

// A jobspec is flattened several times: for parameters, requests and jobs.
const flattened = new WeakMap<Jobspec, readonly FlatTask[]>();

/**
 * All tasks, each after its dependencies. A dependency on a group is a dependency on all of its
 * tasks; the dependencies of a group apply to those of its tasks that depend on no other task of
 * the group.
 */
export function flattenTasks(jobspec: Jobspec): readonly FlatTask[] {
  let flat = flattened.get(jobspec);
  if (flat === undefined) flattened.set(jobspec, (flat = flatten(jobspec)));
  return flat;
}

function flatten(jobspec: Jobspec): readonly FlatTask[] {
  const tasksByPath = new Map<string, readonly string[]>();
  indexTasks(jobspec.items, tasksByPath);
  const expand = (paths: readonly string[]): readonly string[] =>
    paths.flatMap((path) => tasksByPath.get(path) ?? []);
  let links = 0;
  const flat: FlatTask[] = [];
  const visit = (items: readonly JobspecItem[], around: readonly TaskGroup[]): void => {
    for (const item of inOrder(items)) {
      if (item.kind === "group") visit(item.items, [...around, item]);
      else {
        const dependsOn = new Set(expand(item.dependsOn));
        for (const group of around.toReversed()) {
          const isFirst = ![...dependsOn].some((path) => path.startsWith(`${group.path}/`));
          if (isFirst) for (const path of expand(group.dependsOn)) dependsOn.add(path);
        }
        links += dependsOn.size;
        if (links > limits.jobspecDependenciesMax) {
          const most = limits.jobspecDependenciesMax;
          throw new AppError("exhausted", `more than ${most} dependencies between tasks`);
        }
        flat.push({
          task: item,
          attributes: effectiveAttributes(jobspec, [...around, item]),
          dependsOn: [...dependsOn],
        });
      }
    }
  };
  visit(jobspec.items, []);
  return flat;
}

/** The tasks of each path. */
function indexTasks(
  items: readonly JobspecItem[],
  into: Map<string, readonly string[]>,
): readonly string[] {
  return items.flatMap((item) => {
    const tasks = item.kind === "task" ? [item.path] : indexTasks(item.items, into);
    into.set(item.path, tasks);
    return tasks;
  });
}
