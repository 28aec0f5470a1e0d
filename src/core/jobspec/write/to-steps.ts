import { AppError } from "../../../lib/errors.ts";
import { joinShell } from "../../../lib/shell.ts";
import { type FlatTask, flattenTasks } from "../flatten.ts";
import type { Jobspec, JobspecTask, Processes, TaskGroup, TaskWork } from "../model.ts";
import { type Shape, shapeOf } from "../shape.ts";
import { plainWork } from "./work-script.ts";

/** One task of a jobspec as a job for a scheduler that knows dependencies. */
export interface WorkloadStep {
  /** The path of the task: unique. */
  readonly name: string;
  /** Names of earlier steps, all of whose copies must have succeeded before it begins. */
  readonly after: readonly string[];
  /**
   * Text with its `#!` line. Each process of the shape runs it; or it is run once, and starts by
   * itself whatever the shape has room for.
   */
  readonly script: string;
  readonly launch: "each-process" | "once";
  readonly env: Readonly<Record<string, string>>;
  /** undefined: a directory that all steps of the jobspec share. */
  readonly cwd: string | undefined;
  readonly timeLimitMs: number | undefined;
  readonly shape: StepShape;
  /** How often it runs, each time with all of the shape; more than one: an array, 0 to copies - 1. */
  readonly copies: number;
}

/** What the processes of a step get; 0: not spoken of. */
export interface StepShape {
  /** Over which the processes are spread; undefined: anywhere. */
  readonly nodes: number | undefined;
  readonly processes: number;
  readonly coresPerProcess: number;
  readonly gpusPerProcess: number;
  readonly memoryBytesPerProcess: number;
  /** Whole nodes, used by nothing else. */
  readonly isExclusive: boolean;
}

/**
 * The tasks of a jobspec as jobs, each after those it waits for. Groups are taken apart: their tasks
 * run in what they ask for themselves, or in what the group asks for, and wait for each other as the
 * groups do. Throws AppError for what cannot be run.
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
    // 0 is without limit.
    timeLimitMs: durationMs === 0 ? undefined : durationMs,
    shape: stepShapeOf(task),
    copies: task.replicas,
  };
}

/** Of a local task one process that asks for nothing: there is no other place to run it. */
export function stepShapeOf({
  isLocal,
  processes,
  resources,
}: Pick<JobspecTask, "isLocal" | "processes" | "resources">): StepShape {
  // The first choice: a submitted job cannot hold alternatives.
  const shape = shapeOf(isLocal ? [] : (resources[0] ?? []));
  return partOf(shape, isLocal ? ONE : processes);
}

/** What a group holds for what is in it: a process stands for a slot. */
export function groupShapeOf({ resources }: TaskGroup): StepShape {
  const shape = shapeOf(resources[0] ?? []);
  return partOf(shape, ONE_EACH);
}

const ONE_EACH: Processes = { kind: "per-slot", count: 1 };
const ONE: Processes = { kind: "total", count: 1 };

/** What one process gets of its slot. A slot of several nodes has a process on each. */
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

/** What one process runs. */
function scriptOf({ path, work }: JobspecTask, cwd: string | undefined): string {
  const plain = plainWork(work);
  switch (plain.kind) {
    case "impossible":
      throw new AppError("invalid_argument", `${path}: ${plain.reason}`);
    case "command":
      // In place of the shell, so that nothing stands between it and a signal.
      return `#!/bin/sh\nexec ${joinShell(plain.argv)}\n`;
    case "script": {
      const text = plain.text.startsWith("#!") ? plain.text : `#!/bin/sh\n${plain.text}`;
      return cwd === undefined && hasFiles(work) ? inOwnDirectory(text) : text;
    }
  }
}

const hasFiles = ({ scripts, steps }: TaskWork): boolean => scripts.length + steps.length > 0;

/** Files of the same name, of other processes or tasks, are not in its way. */
const inOwnDirectory = (text: string): string =>
  text.replace(
    /^(#!.*\nset -e\n)/,
    (head) =>
      `${head}busbar_directory=$(mktemp -d ./work.XXXXXX)\ncd "$busbar_directory"\nunset busbar_directory\n`,
  );
