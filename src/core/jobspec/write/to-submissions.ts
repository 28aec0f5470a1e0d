import { AppError } from "../../../lib/errors.ts";
import { limits } from "../../../limits.ts";
import { Slicer } from "../../graph/match/match-work.ts";
import type { ResourceChoice } from "../../graph/request/request.ts";
import type { StateValues } from "../../graph/cluster-state.ts";
import type { JobSpecInput } from "../../model/job/job-spec.ts";
import { flattenTasks } from "../flatten.ts";
import type { Jobspec, JobspecTask } from "../model.ts";
import { perProcess } from "../split-processes.ts";
import { firstOf, specOf } from "./to-busbar.ts";

/**
 * Whether processes that can run by themselves become tasks of their own, on nodes with agents;
 * otherwise one cluster gets all of them.
 */
export type IsSplit = (forms: {
  readonly ofEach: ResourceChoice;
  readonly ofAll: ResourceChoice;
}) => boolean;

/**
 * The tasks of a jobspec as jobs with graph requests, each after its dependencies. Throws an
 * AppError that lists all tasks that cannot run. Yields between slices of tasks: thousands take a
 * while.
 */
export function* toSubmissions(
  jobspec: Jobspec,
  isSplit: IsSplit,
  parameters: StateValues = {},
): Generator<undefined, readonly JobSpecInput[]> {
  const reasons: string[] = [];
  const slicer = new Slicer();
  const select = Object.keys(parameters).length === 0 ? {} : { select: { parameters } };
  const jobs: JobSpecInput[] = [];
  for (const [at, flat] of flattenTasks(jobspec).entries()) {
    if (at > 0 && at % limits.jobsPerSliceMax === 0) yield;
    const { task } = flat;
    const asksNothing = task.isLocal || task.resources.every((trees) => trees.length === 0);
    const placed = asksNothing
      ? { copies: task.replicas }
      : { ...(yield* slicer.next(() => placedBy(task, isSplit))), ...select };
    const refuse = (reason: string): unknown => reasons.push(`${task.path}: ${reason}`);
    // Otherwise a dependency on it would be read as one on a job id.
    if (/^\d+(?:\.\d+)?$/.test(task.path)) refuse("a name must not look like the id of a job");
    const spec = specOf(flat, placed, refuse);
    if (spec !== undefined) jobs.push(spec);
  }
  if (reasons.length > 0) throw new AppError("invalid_argument", firstOf(reasons).join("\n"));
  return jobs;
}

type Placed = Pick<JobSpecInput, "request" | "placement"> & { readonly copies: number };

function placedBy(task: JobspecTask, isSplit: IsSplit): Placed {
  const { copies, request, form } = perProcess(task);
  if (form !== "split") return { copies, request };
  if (isSplit({ ofEach: request, ofAll: task.resources })) {
    return { copies, request, placement: { kind: "managed" } };
  }
  return { copies: task.replicas, request: task.resources, placement: { kind: "pulling" } };
}
