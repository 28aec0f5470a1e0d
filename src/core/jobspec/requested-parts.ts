import type { ResourceChoice } from "../graph/request/request.ts";
import { flattenTasks } from "./flatten.ts";
import { perProcess } from "./split-processes.ts";
import { type Jobspec, type JobspecItem, type Plain, scheduledResources } from "./model.ts";

/** One of the requests that a jobspec makes of a cluster. */
export interface RequestedPart {
  /** The path of a task or group. */
  readonly name: string;
  readonly resources: ResourceChoice;
  /** The request of each process, when processes run by themselves. */
  readonly ofNodes: ResourceChoice;
}

/**
 * The requests that a jobspec makes of a cluster, one part each: every task that is not local.
 * Where resources are marked to be scheduled, instead the tasks and groups that name a marked one:
 * the tasks of such a group run in the resources of the group. A jobspec without tasks requests its
 * resources.
 */
export function requestedParts(jobspec: Jobspec): readonly RequestedPart[] {
  const marked = new Set(
    [...jobspec.resources].filter(([, { isScheduled }]) => isScheduled).map(([name]) => name),
  );
  if (marked.size === 0 && jobspec.items.length > 0) {
    return flattenTasks(jobspec)
      .filter(({ task: { isLocal, resources } }) => !isLocal && resources.length > 0)
      .map(({ task }) => partOf(task));
  }
  const parts = naming(jobspec.items, marked);
  if (parts.length > 0) return parts;
  if (marked.size === 0) return partsAlone(jobspec);
  const resources = [scheduledResources(jobspec)];
  return [{ name: [...marked].join("+"), resources, ofNodes: resources }];
}

/** Each resource by itself, as for tasks that name one each. */
const partsAlone = ({ resources }: Jobspec): readonly RequestedPart[] =>
  [...resources].map(([name, { request }]) => {
    const choice = [[request]];
    return { name, resources: choice, ofNodes: choice };
  });

const partOf = (item: JobspecItem): RequestedPart => ({
  name: item.path,
  resources: item.resources,
  ofNodes: item.kind === "task" ? perProcess(item).request : item.resources,
});

const naming = (
  items: readonly JobspecItem[],
  marked: ReadonlySet<string>,
): readonly RequestedPart[] =>
  items.flatMap((item) => {
    if (item.asks?.flat().some((name) => marked.has(name)) === true) {
      return [partOf(item)];
    }
    return item.kind === "group" ? naming(item.items, marked) : [];
  });

/**
 * The parameters of a jobspec for the selection of a cluster: its own, or those of its only task.
 */
export function parametersOf(jobspec: Jobspec): Plain {
  const [only, ...others] = flattenTasks(jobspec);
  const { extras } = only === undefined || others.length > 0 ? jobspec.attributes : only.attributes;
  return extras["parameter"] ?? {};
}
