import type { ResourceChoice } from "../graph/request/request.ts";
import { flattenTasks } from "./flatten.ts";
import { perProcess } from "./split-processes.ts";
import { type Jobspec, type JobspecItem, type Plain, scheduledResources } from "./model.ts";

/** One of the things that a jobspec asks of a cluster. */
export interface AskedPart {
  /** A task's or group's path. */
  readonly name: string;
  readonly resources: ResourceChoice;
  /** What each of its processes asks for, where these run by themselves. */
  readonly ofNodes: ResourceChoice;
}

/**
 * What a jobspec asks of a cluster, each part by itself: every task that is not local. Where
 * resources are marked to be scheduled, instead the tasks and groups that name one of them: what is
 * inside such a group runs in what the group got. One that has nothing to run asks for its resources.
 */
export function askedParts(jobspec: Jobspec): readonly AskedPart[] {
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

/** Each resource by itself, as it would be for tasks that name one each. */
const partsAlone = ({ resources }: Jobspec): readonly AskedPart[] =>
  [...resources].map(([name, { request }]) => {
    const choice = [[request]];
    return { name, resources: choice, ofNodes: choice };
  });

const partOf = (item: JobspecItem): AskedPart => ({
  name: item.path,
  resources: item.resources,
  ofNodes: item.kind === "task" ? perProcess(item).request : item.resources,
});

const naming = (items: readonly JobspecItem[], marked: ReadonlySet<string>): readonly AskedPart[] =>
  items.flatMap((item) => {
    if (item.asks?.flat().some((name) => marked.has(name)) === true) {
      return [partOf(item)];
    }
    return item.kind === "group" ? naming(item.items, marked) : [];
  });

/** What a jobspec says of itself for choosing a cluster: its own, or those of its only task. */
export function parametersOf(jobspec: Jobspec): Plain {
  const [only, ...others] = flattenTasks(jobspec);
  const { extras } = only === undefined || others.length > 0 ? jobspec.attributes : only.attributes;
  return extras["parameter"] ?? {};
}
