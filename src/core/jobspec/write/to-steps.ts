import { AppError } from "../../../lib/errors.ts";
import { joinShell } from "../../../lib/shell.ts";
import { type FlatTask, flattenTasks } from "../flatten.ts";
import type { Jobspec, JobspecTask, Processes, TaskGroup, TaskWork } from "../model.ts";
import { type Shape, shapeOf } from "../shape.ts";
import { plainWork } from "./work-script.ts";

/** One task of a jobspec as a job for a scheduler that supports dependencies. */
export interface WorkloadStep {
  /** The path of the task: unique. */
  readonly name: string;
  /** Names of earlier steps, all of whose copies must succeed before it starts. */
  readonly after: readonly string[];
  /**
   * Text with its `#!` line. Each process of the shape runs it; or it runs once, and itself starts
   * as many processes as the shape allows.
   */
  readonly script: string;
  readonly launch: "each-process" | "once";
  readonly env: Readonly<Record<string, string>>;
  /** undefined: a directory that all steps of the jobspec share. */
  readonly cwd: string | undefined;
  readonly timeLimitMs: number | undefined;
  readonly shape: StepShape;
  /**
   * How often it runs, each time with the whole shape; more than one: an array, 0 to copies - 1.
   */
  readonly copies: number;
}

/** The resources of a step's processes; 0: not requested. */
export interface StepShape {
  /** Over which the processes are spread; undefined: any. */
  readonly nodes: number | undefined;
  readonly processes: number;
  readonly coresPerProcess: number;
  readonly gpusPerProcess: number;
  readonly memoryBytesPerProcess: number;
  /** Whole nodes, shared with no other job. */
  readonly isExclusive: boolean;
}

/**
 * The tasks of a jobspec as jobs, each after its dependencies. Groups are flattened: their tasks
 * run in their own resources, or in those of the group, and inherit the dependencies of the groups.
 * Throws AppError for tasks that cannot run.
 */
export const toSteps = (jobspec: Jobspec): readonly WorkloadStep[] =>
  flattenTasks(jobspec).map(stepOf);

export function stepOf({ task, attributes, dependsOn }: FlatTask): WorkloadStep {
  const { durationMs, cwd, environment } = attributes;
  return {
    name: task.path,
    after: dependsOn,
    script: scriptOf(task, cwd),
    launch: "each-process",
    env: environment,
    cwd,
    // 0 means no limit.
    timeLimitMs: durationMs === 0 ? undefined : durationMs,
    shape: stepShapeOf(task),
    copies: task.replicas,
  };
}

/** A local task is one process that requests nothing: there is no other place to run it. */
export function stepShapeOf({
  isLocal,
  processes,
  resources,
}: Pick<JobspecTask, "isLocal" | "processes" | "resources">): StepShape {
  // The first alternative: a submitted job cannot have several.
  const shape = shapeOf(isLocal ? [] : (resources[0] ?? []));
  return partOf(shape, isLocal ? ONE : processes);
}

/** The resources of a group for its tasks: a process stands for a slot. */
export function groupShapeOf({ resources }: TaskGroup): StepShape {
  const shape = shapeOf(resources[0] ?? []);
  return partOf(shape, ONE_EACH);
}

const ONE_EACH: Processes = { kind: "per-slot", count: 1 };
const ONE: Processes = { kind: "total", count: 1 };

/** The part of its slot that one process gets. A slot of several nodes has a process on each. */
function partOf(shape: Shape, { kind, count }: Processes): StepShape {
  const { slots, nodesPerSlot, perSlot, isExclusive } = shape;
  const sharing = (kind === "per-slot" ? count : 1) * Math.max(1, nodesPerSlot);
  return {
    nodes: shape.nodes ?? (nodesPerSlot > 0 ? slots * nodesPerSlot : undefined),
    processes: kind === "total" ? count : slots * count * Math.max(1, nodesPerSlot),
    coresPerProcess: perSlot.cores === 0 ? 0 : Math.max(1, Math.floor(perSlot.cores / sharing)),
    gpusPerProcess: Math.floor(perSlot.gpus / sharing),
    memoryBytesPerProcess: Math.ceil(perSlot.memoryBytes / sharing),
    isExclusive,
  };
}

/** The script of one process. */
function scriptOf({ path, work }: JobspecTask, cwd: string | undefined): string {
  const plain = plainWork(work);
  switch (plain.kind) {
    case "impossible":
      throw new AppError("invalid_argument", `${path}: ${plain.reason}`);
    case "command":
      // exec replaces the shell, so that signals reach the command itself.
      return `#!/bin/sh\nexec ${joinShell(plain.argv)}\n`;
    case "script": {
      const text = plain.text.startsWith("#!") ? plain.text : `#!/bin/sh\n${plain.text}`;
      return cwd === undefined && hasFiles(work) ? inOwnDirectory(text) : text;
    }
  }
}

const hasFiles = ({ scripts, steps }: TaskWork): boolean => scripts.length + steps.length > 0;

/** So that files of the same name of other processes or tasks do not collide. */
const inOwnDirectory = (text: string): string =>
  text.replace(
    /^(#!.*\nset -e\n)/,
    (head) =>
      `${head}busbar_directory=$(mktemp -d ./work.XXXXXX)\ncd "$busbar_directory"\nunset busbar_directory\n`,
  );
