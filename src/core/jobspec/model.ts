import type { Position } from "../../lib/yaml/yaml-tree.ts";
import type { Requirement, ResourceChoice, ResourceRequest } from "../graph/request/request.ts";

/** The four dialects. All of them call themselves version 1. */
export type Dialect = "flux-v1" | "experimental" | "draft-2" | "nextgen";

/**
 * Names in order of preference: one of the lists, with all of its names. "a|b&c" is [["a"], ["b",
 * "c"]].
 */
export type NameChoice = readonly (readonly string[])[];

/**
 * A validated jobspec of any dialect: every name is resolved, no dependency is circular, everything
 * that runs has resources.
 */
export interface Jobspec {
  readonly dialect: Dialect;
  readonly name: string | undefined;
  /** Defaults for all tasks and groups. */
  readonly attributes: Attributes;
  /** In the order of the document. */
  readonly resources: ReadonlyMap<string, NamedResource>;
  /** Named sets of requirements, which tasks and groups refer to. */
  readonly requires: ReadonlyMap<string, readonly Requirement[]>;
  readonly items: readonly JobspecItem[];
}

export interface NamedResource {
  readonly at: Position;
  readonly request: ResourceRequest;
  /** Defaults for the tasks and groups that use the resource. */
  readonly attributes: Attributes;
  /**
   * If any resource is marked, only marked ones are requested of a scheduler; otherwise all are.
   */
  readonly isScheduled: boolean;
}

export type JobspecItem = JobspecTask | TaskGroup;

interface Item {
  readonly name: string;
  /** Unique in the document: the names of its groups and its own, "train/fit". */
  readonly path: string;
  readonly at: Position;
  /** The resources that it names; undefined: those of its group. */
  readonly asks: NameChoice | undefined;
  /**
   * The same as trees, with `requires` on their nodes; empty for a local task without resources.
   */
  readonly resources: ResourceChoice;
  /** Its own sets of requirements; those of its groups are added to `resources` only. */
  readonly requires: NameChoice | undefined;
  /** The paths of items that must succeed before it starts. */
  readonly dependsOn: readonly string[];
  /** Its own; `effectiveAttributes` adds inherited ones. */
  readonly attributes: Attributes;
}

/** The work of one or more processes. */
export interface JobspecTask extends Item {
  readonly kind: "task";
  readonly work: TaskWork;
  /** How often it runs, each time with all of its resources. */
  readonly replicas: number;
  /** The number of processes that start in its slots. */
  readonly processes: Processes;
  /** Runs where the jobspec is run, or as a line of its group's script; it is not scheduled. */
  readonly isLocal: boolean;
}

/**
 * Tasks that run together in the resources of the group. (Not the Group of Busbar, which queues
 * jobs.)
 */
export interface TaskGroup extends Item {
  readonly kind: "group";
  readonly items: readonly JobspecItem[];
}

export interface Processes {
  readonly kind: "per-slot" | "total";
  readonly count: number;
}

/** The steps run first, then `run`; at least one of them is present. */
export interface TaskWork {
  /** Files that the steps may write. */
  readonly scripts: readonly ScriptFile[];
  readonly steps: readonly Step[];
  readonly run: Run | undefined;
}

export type Run =
  | { readonly kind: "command"; readonly argv: readonly string[] }
  /** Runs by its #! line, or by sh. */
  | { readonly kind: "script"; readonly text: string };

export interface ScriptFile {
  readonly name: string;
  readonly content: string;
}

export type Step =
  /** Puts a file or directory on every node. */
  | { readonly kind: "stage"; readonly path: string }
  | { readonly kind: "write"; readonly script: string; readonly isExecutable: boolean }
  /** Runs it as one job: in each slot, or (batch) once. */
  | { readonly kind: "submit"; readonly script: string; readonly isWatched: boolean }
  | { readonly kind: "batch"; readonly script: string }
  /** For the following steps: whether all nodes share a file system. */
  | { readonly kind: "set-shared"; readonly isShared: boolean | undefined }
  /** For the following steps: the directory to write and run files in. */
  | { readonly kind: "set-directory"; readonly directory: string | undefined };

export interface Attributes {
  /** 0: no limit. */
  readonly durationMs: number | undefined;
  readonly cwd: string | undefined;
  readonly environment: Readonly<Record<string, string>>;
  /** Attributes that Busbar only passes on: watch, parameter, user, queue, … */
  readonly extras: Readonly<Record<string, Plain>>;
}

/** A JSON value. */
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

/** The resources to request of a scheduler: the marked ones, or all when none is marked. */
export function scheduledResources(jobspec: Jobspec): readonly ResourceRequest[] {
  const all = [...jobspec.resources.values()];
  const marked = all.filter(({ isScheduled }) => isScheduled);
  return (marked.length > 0 ? marked : all).map(({ request }) => request);
}
