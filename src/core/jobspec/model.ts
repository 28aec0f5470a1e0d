import type { Position } from "../../lib/yaml/yaml-tree.ts";
import type { Requirement, ResourceChoice, ResourceRequest } from "../graph/request/request.ts";

/** The four kinds of documents that all call themselves version 1. */
export type Dialect = "flux-v1" | "experimental" | "draft-2" | "nextgen";

/** Names by preference: one of the lists, and of it all. "a|b&c" is [["a"], ["b", "c"]]. */
export type NameChoice = readonly (readonly string[])[];

/**
 * A jobspec of any dialect, checked: every name is known, nothing waits for itself, everything that
 * runs knows its resources.
 */
export interface Jobspec {
  readonly dialect: Dialect;
  readonly name: string | undefined;
  /** What holds for everything that says nothing else. */
  readonly attributes: Attributes;
  /** In the order written. */
  readonly resources: ReadonlyMap<string, NamedResource>;
  /** Named sets of requirements, for tasks and groups to refer to. */
  readonly requires: ReadonlyMap<string, readonly Requirement[]>;
  readonly items: readonly JobspecItem[];
}

export interface NamedResource {
  readonly at: Position;
  readonly request: ResourceRequest;
  /** What holds for whoever uses the resource and says nothing else. */
  readonly attributes: Attributes;
  /** If any resource is, only those are asked of a scheduler; else all are. */
  readonly isScheduled: boolean;
}

export type JobspecItem = JobspecTask | TaskGroup;

interface Item {
  readonly name: string;
  /** Unique in the document: the names of the groups around it and its own, "train/fit". */
  readonly path: string;
  readonly at: Position;
  /** The resources it names; undefined: those of the group around it. */
  readonly asks: NameChoice | undefined;
  /** The same as trees, with `requires` put on their nodes; empty for a local task without any. */
  readonly resources: ResourceChoice;
  /** Sets of requirements; what the groups around it require is added to `resources` only. */
  readonly requires: NameChoice | undefined;
  /** Paths of what must have succeeded before it starts. */
  readonly dependsOn: readonly string[];
  /** Its own; `effectiveAttributes` adds what it inherits. */
  readonly attributes: Attributes;
}

/** What one or more processes do. */
export interface JobspecTask extends Item {
  readonly kind: "task";
  readonly work: TaskWork;
  /** How often it runs, each time with all of its resources. */
  readonly replicas: number;
  /** How many processes start in its slots. */
  readonly processes: Processes;
  /** Runs where the jobspec is run, or as a line of its group's script; not scheduled. */
  readonly isLocal: boolean;
}

/** Tasks that run together in the resources of the group. (Busbar's own Group queues jobs.) */
export interface TaskGroup extends Item {
  readonly kind: "group";
  readonly items: readonly JobspecItem[];
}

export interface Processes {
  readonly kind: "per-slot" | "total";
  readonly count: number;
}

/** First the steps, then `run`; at least one of them is there. */
export interface TaskWork {
  /** Files that the steps may write. */
  readonly scripts: readonly ScriptFile[];
  readonly steps: readonly Step[];
  readonly run: Run | undefined;
}

export type Run =
  | { readonly kind: "command"; readonly argv: readonly string[] }
  /** Run by its #! line, or by sh. */
  | { readonly kind: "script"; readonly text: string };

export interface ScriptFile {
  readonly name: string;
  readonly content: string;
}

export type Step =
  /** Makes a file or directory be there on every node. */
  | { readonly kind: "stage"; readonly path: string }
  | { readonly kind: "write"; readonly script: string; readonly isExecutable: boolean }
  /** Runs it as one job: in each slot, or (batch) once. */
  | { readonly kind: "submit"; readonly script: string; readonly isWatched: boolean }
  | { readonly kind: "batch"; readonly script: string }
  /** For the steps that follow: whether all nodes see the same files. */
  | { readonly kind: "set-shared"; readonly isShared: boolean | undefined }
  /** For the steps that follow: where files are written and run. */
  | { readonly kind: "set-directory"; readonly directory: string | undefined };

export interface Attributes {
  /** 0: without limit. */
  readonly durationMs: number | undefined;
  readonly cwd: string | undefined;
  readonly environment: Readonly<Record<string, string>>;
  /** What others act on and Busbar only hands on: watch, parameter, user, queue, … */
  readonly extras: Readonly<Record<string, Plain>>;
}

/** What JSON can say. */
export type Plain =
  | string
  | number
  | boolean
  | null
  | readonly Plain[]
  | { readonly [key: string]: Plain };

export const NO_ATTRIBUTES: Attributes = Object.freeze({
  durationMs: undefined,
  cwd: undefined,
  environment: Object.freeze({}),
  extras: Object.freeze({}),
});

/** What a scheduler is asked for: the marked resources, or all when none is marked. */
export function scheduledResources(jobspec: Jobspec): readonly ResourceRequest[] {
  const all = [...jobspec.resources.values()];
  const marked = all.filter(({ isScheduled }) => isScheduled);
  return (marked.length > 0 ? marked : all).map(({ request }) => request);
}
