import type { ResourceChoice, ResourceRequest } from "../graph/request/request.ts";
import type { JobspecTask } from "./model.ts";
import { pathToProcess, type Shape, shapeOf } from "./shape.ts";

/** A task of a jobspec as tasks of Busbar, each with its part of the request. */
export interface PerProcess {
  readonly copies: number;
  readonly request: ResourceChoice;
  /**
   * single: a task is one process. split: the jobspec requested the processes as one task, and they
   * may run by themselves. together: they are one piece of work that spans nodes, or their number
   * is unknown.
   */
  readonly form: "single" | "split" | "together";
}

/**
 * Processes that run by themselves become one task each. Work that needs several nodes at once
 * stays one task with the whole request; so does a choice between alternatives with different
 * numbers of processes.
 */
export function perProcess(task: JobspecTask): PerProcess {
  const { resources, replicas } = task;
  const counts = resources.map((trees) => processesOf(task, shapeOf(trees)));
  const [count] = counts;
  if (count === undefined || counts.some((other) => other !== count)) {
    return { copies: replicas, request: resources, form: "together" };
  }
  const { kind, count: perSlot } = task.processes;
  // Processes that share a slot get equal parts of it.
  const sharing = kind === "per-slot" ? perSlot : 1;
  return {
    copies: replicas * count,
    form: count === 1 ? "single" : "split",
    request: resources.map((trees) => trees.map((tree) => ofOneProcess(tree, sharing))),
  };
}

/** Undefined: the processes must run together. */
function processesOf({ processes }: JobspecTask, shape: Shape): number | undefined {
  if (shape.isSpanning) return undefined;
  return processes.kind === "total" ? processes.count : shape.slots * processes.count;
}

/** Branches beside the path to the process belong to other processes. */
function ofOneProcess(tree: ResourceRequest, sharing: number): ResourceRequest {
  const path = pathToProcess(tree);
  if (path === undefined) return shared(tree, sharing);
  const [last, ...above] = path.toReversed();
  const bottom =
    last === undefined ? tree : { ...last, with: last.with.map((each) => shared(each, sharing)) };
  return above.reduce<ResourceRequest>(
    (inner, vertex) => ({ ...vertex, count: 1, with: [inner] }),
    { ...bottom, count: 1 },
  );
}

const shared = (tree: ResourceRequest, sharing: number): ResourceRequest =>
  tree.with.length === 0
    ? { ...tree, count: tree.count / sharing }
    : { ...tree, with: tree.with.map((each) => shared(each, sharing)) };
