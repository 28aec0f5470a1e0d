import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import type { ResourceChoice } from "../../graph/request/request.ts";
import { type JobSpecInput, toJobSpec } from "../../model/job/job-spec.ts";
import { type FlatTask, flattenTasks } from "../flatten.ts";
import type { Jobspec, JobspecTask } from "../model.ts";
import { type Shape, shapeOf } from "../shape.ts";
import { plainWork } from "./work-script.ts";

/** A task as a job of Busbar. */
export interface BusbarJob {
  /** The task's path: unique, and the name that dependencies use. */
  readonly name: string;
  readonly spec: JobSpecInput;
  /**
   * Its request of a cluster's graph; `spec.resources` is what one node must have for a part of it.
   */
  readonly resources: ResourceChoice;
  /** Runs where the jobspec is run; it is not placed on a node. */
  readonly isLocal: boolean;
}

/**
 * The tasks of a jobspec as jobs, each after its dependencies. Throws an AppError that lists all
 * tasks that cannot run on single nodes, such as work that spans nodes.
 */
export function toBusbarJobs(jobspec: Jobspec): { readonly jobs: readonly BusbarJob[] } {
  const reasons: string[] = [];
  const jobs = flattenTasks(jobspec).flatMap((flat): BusbarJob[] => {
    const { task } = flat;
    const spec = toSpec(flat, (reason) => reasons.push(`${task.path}: ${reason}`));
    if (spec === undefined) return [];
    return [
      {
        name: task.path,
        spec,
        resources: task.resources,
        isLocal: task.isLocal,
      },
    ];
  });
  if (reasons.length > 0) throw new AppError("invalid_argument", firstOf(reasons).join("\n"));
  return { jobs };
}

/** At most as many as are worth reading. */
export function firstOf(reasons: readonly string[]): readonly string[] {
  const most = limits.jobspecProblemsShownMax;
  return reasons.length <= most
    ? reasons
    : [...reasons.slice(0, most), `and ${reasons.length - most} more`];
}

export type Refuse = (reason: string) => unknown;

function toSpec(flat: FlatTask, refuse: Refuse): JobSpecInput | undefined {
  const { task } = flat;
  return specOf(flat, task.isLocal ? { copies: task.replicas } : toOneNode(task, refuse), refuse);
}

/** Reports the problems through `refuse` instead, if there are any. */
export function specOf(
  { task, attributes, dependsOn }: FlatTask,
  placed:
    | (Pick<JobSpecInput, "resources" | "request" | "placement"> & { readonly copies: number })
    | undefined,
  refuse: Refuse,
): JobSpecInput | undefined {
  const work = plainWork(task.work);
  if (work.kind === "impossible") refuse(work.reason);
  if (placed === undefined || work.kind === "impossible") return undefined;
  const { durationMs, cwd, environment } = attributes;
  const { copies, ...demand } = placed;
  const spec: JobSpecInput = {
    name: task.path,
    ...(work.kind === "command" ? { command: work.argv } : { script: work.text }),
    ...(Object.keys(environment).length === 0 ? {} : { env: environment }),
    ...(cwd === undefined ? {} : { cwd }),
    ...demand,
    ...(copies === 1 ? {} : { array: `0-${copies - 1}` }),
    // 0 means no limit, which is the default.
    ...(durationMs === undefined || durationMs === 0 ? {} : { timeLimitMs: durationMs }),
    ...(dependsOn.length === 0 ? {} : { dependsOn: [{ on: dependsOn }] }),
  };
  try {
    toJobSpec(spec);
    return spec;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    refuse(error.message);
    return undefined;
  }
}

interface OneNode {
  readonly copies: number;
  readonly resources?: Readonly<Record<string, number>>;
}

/** By the first alternative that single nodes can satisfy. */
function toOneNode(task: JobspecTask, refuse: Refuse): OneNode | undefined {
  const reasons: string[] = [];
  for (const trees of task.resources) {
    const placed = fromShape(task, shapeOf(trees));
    if (typeof placed !== "string") return placed;
    reasons.push(placed);
  }
  for (const reason of new Set(reasons)) refuse(reason);
  return undefined;
}

/** Or the reason why not. */
function fromShape(task: JobspecTask, shape: Shape): OneNode | string {
  const { perSlot, slots } = shape;
  if (shape.isSpanning) {
    const nodes = shape.nodesPerSlot > 1 ? shape.nodesPerSlot : (shape.nodes ?? slots);
    return `requests ${nodes} nodes together, and a task of Busbar runs on one node`;
  }
  if (shape.isExclusive) return "requests a whole node (exclusive), which Busbar cannot guarantee";
  if (perSlot.isMemoryUnknown) return "requests memory without a known unit, like GiB";
  const { kind, count } = task.processes;
  // Processes that share a slot get equal parts of it.
  const sharing = kind === "per-slot" ? count : 1;
  const share = (amount: number): number => amount / sharing;
  for (const [name, amount] of [
    ["gpu", perSlot.gpus],
    ...Object.entries(perSlot.others),
  ] as const) {
    if (Number.isInteger(share(amount))) continue;
    return `${amount} ${name} of a slot cannot be shared by its ${sharing} processes`;
  }
  const resources = {
    ...(perSlot.cores === 0 ? {} : { cpu: Math.ceil(share(perSlot.cores) * 1_000) / 1_000 }),
    ...(perSlot.memoryBytes === 0 ? {} : { memory: Math.ceil(share(perSlot.memoryBytes)) }),
    ...(perSlot.gpus === 0 ? {} : { gpu: share(perSlot.gpus) }),
    ...Object.fromEntries(
      Object.entries(perSlot.others).map(([name, amount]) => [name, share(amount)]),
    ),
  };
  const processes = kind === "total" ? count : slots * count;
  const copies = task.replicas * processes;
  return Object.keys(resources).length === 0 ? { copies } : { copies, resources };
}
