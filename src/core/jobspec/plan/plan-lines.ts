import { AppError } from "../../../lib/errors.ts";
import { commandLine, quoteShell } from "../../../lib/shell.ts";
import type { Attributes, JobspecItem, JobspecTask } from "../model.ts";
import { shapeOf } from "../shape.ts";
import { stepShapeOf } from "../write/to-steps.ts";
import { argvOf, plainWork } from "../write/work-script.ts";

/** One step of a plan. */
export interface PlanStep {
  /** The path of the task or group. */
  readonly name: string;
  /** The paths of items that must succeed before. */
  readonly after: readonly string[];
  /** For people: requests that the line leaves out. */
  readonly notes: readonly string[];
  /** For a POSIX shell; it may span several lines. */
  readonly line: string;
}

/** The work of a task as one command. Throws when one command cannot do it. */
export function argvOfTask(task: JobspecTask): readonly string[] {
  const work = plainWork(task.work);
  if (work.kind !== "impossible") return argvOf(work);
  throw new AppError("invalid_argument", `${task.path}: ${work.reason}`);
}

/** The requests that command lines of other schedulers leave out. */
export function notesOf({ resources }: Pick<JobspecItem, "resources">): readonly string[] {
  const subsystems = new Set(resources.flat().flatMap(subsystemsIn));
  const others = Object.keys(shapeOf(resources[0] ?? []).perSlot.others);
  return [
    ...(resources.length > 1 ? [`the first of ${resources.length} alternatives`] : []),
    ...(subsystems.size > 0 ? [`requirements on ${[...subsystems].join(", ")} are left out`] : []),
    ...(others.length > 0 ? [`${others.join(", ")} left out`] : []),
  ];
}

type Tree = JobspecTask["resources"][number][number];

const subsystemsIn = (tree: Tree): readonly string[] => [
  ...tree.requires.map(({ subsystem }) => subsystem),
  ...tree.with.flatMap(subsystemsIn),
];

/** The command itself, run here: in its directory, with its environment and its time limit. */
export function localLine(task: JobspecTask, attributes: Attributes): string {
  const { durationMs, cwd, environment } = attributes;
  const variables = variablesOf(environment);
  const limit = durationMs === undefined || durationMs === 0 ? [] : [`${durationMs / 1_000}`];
  const argv = argvOfTask(task);
  const line = commandLine(limit.length === 0 ? argv : ["timeout", ...limit, ...argv], variables);
  // Files are written to the directory in which the task runs.
  const isHere = cwd === undefined && task.work.scripts.length === 0;
  const enter = isHere ? "" : `cd ${cwd === undefined ? '"$(mktemp -d)"' : quoteShell(cwd)} && `;
  const copies = task.replicas * stepShapeOf(task).processes;
  if (copies === 1) return enter === "" ? line : `(${enter}${line})`;
  // Each copy knows its index, as in an array of Busbar.
  const each = `BUSBAR_ARRAY_INDEX=$i ${line} || exit`;
  return `(${enter}i=0 && while [ "$i" -lt ${copies} ]; do ${each}; i=$((i + 1)); done)`;
}

export const variablesOf = (environment: Attributes["environment"]): readonly string[] =>
  Object.entries(environment).map(([name, value]) => `${name}=${value}`);

/** A shell variable for each path: job_train_fit. */
export function variableNames(paths: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set<string>();
  return new Map(
    paths.map((path) => {
      const base = `job_${path.replaceAll(/[^A-Za-z0-9]/g, "_")}`;
      let name = base;
      for (let number = 2; taken.has(name); number += 1) name = `${base}_${number}`;
      taken.add(name);
      return [path, name];
    }),
  );
}
