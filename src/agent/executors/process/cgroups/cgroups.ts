import { dirname, basename, join } from "node:path";

import { parseOwnGroup } from "../../../discovery/cgroup.ts";
import type { CgroupFiles } from "./cgroup-files.ts";
import { codeOf, systemFiles } from "./cgroup-files.ts";
import type { GroupWrite } from "./enforcement.ts";

/** Where this machine has control groups version 2, and which is the agent's own. */
export interface CgroupPlace {
  /** The text of /proc/self/mountinfo. */
  readonly mounts: string;
  /** The text of /proc/self/cgroup. */
  readonly own: string;
}

/** The directory of the agent's own group; undefined: this machine has no control groups version 2. */
export function ownGroupOf({ mounts, own }: CgroupPlace): string | undefined {
  if (!/^0::/m.test(own)) return undefined;
  for (const line of mounts.split("\n")) {
    const [before = "", after = ""] = line.split(" - ");
    const [, , , root = "", mountPoint = ""] = before.split(" ");
    if (!after.startsWith("cgroup2 ")) continue;
    const path = parseOwnGroup(own);
    const isBelow = root === "/" || path === root || path.startsWith(`${root}/`);
    return isBelow ? join(mountPoint, root === "/" ? path : path.slice(root.length)) : mountPoint;
  }
  return undefined;
}

export const CONTROLLERS = ["memory", "cpu"] as const;
export type Controller = (typeof CONTROLLERS)[number];

export interface CgroupsOptions {
  /** The agent's own group: see ownGroupOf. */
  readonly own: string | undefined;
  /** A group that the operator named instead of the agent's own. */
  readonly named?: string | undefined;
  /** Distinguishes the groups of this agent from those of others; a restarted agent has the same. */
  readonly tag: string;
  readonly files?: CgroupFiles;
  /** Only reports what would be enforced: leaves nothing behind. */
  readonly isTrial?: boolean | undefined;
}

/** The group of the agent and its launchers: the kernel enables no controllers in a group that has processes. */
const AGENT_GROUP = "busbar-agent";
/** runc makes the groups of containers beside that of the run that starts it, and removes them with the containers. */
const CONTAINER_START = "busbar-";
const MOVES_MAX = 5;
const NO_V2 = "this machine has no control groups version 2";
const IN_ROOT =
  "the agent runs in the root control group, which it must not use (name one with --cgroup)";

/**
 * A control group of version 2 for each run, below a group that is delegated to this user. No
 * process can leave its group by itself, so that ending the group ends the run whatever it did, and
 * limits hold for all of its processes together.
 *
 *   <delegated group>/busbar-agent/          the agent and its launchers
 *   <delegated group>/busbar-<tag>/<key>/    a run
 */
export class RunCgroups {
  readonly directory: string;
  readonly #files: CgroupFiles;
  readonly #whyNot: ReadonlyMap<Controller, string>;

  private constructor(
    directory: string,
    files: CgroupFiles,
    whyNot: ReadonlyMap<Controller, string>,
  ) {
    this.directory = directory;
    this.#files = files;
    this.#whyNot = whyNot;
  }

  /** Tries to make groups. A text: why this machine does not support them. */
  static open(options: CgroupsOptions): RunCgroups | string {
    const { own, named, tag, files = systemFiles, isTrial = false } = options;
    if (own === undefined) return NO_V2;
    const base = named ?? delegatedOf(own);
    if (named === undefined && files.read(join(base, "cgroup.type")) === undefined) return IN_ROOT;
    const directory = join(base, `busbar-${tag}`);
    try {
      files.make(directory);
      const probe = join(directory, "probe");
      files.make(probe);
      if (files.read(join(probe, "cgroup.events")) === undefined) {
        return `${base} is not a control group of version 2`;
      }
      if (!files.has(join(probe, "cgroup.kill"))) {
        return "the kernel is older than 5.14: it has no cgroup.kill";
      }
      files.enter(probe);
      files.remove(probe);
      if (isTrial) files.remove(directory);
    } catch (error) {
      return `${base} is not delegated to this user (${codeOf(error)})`;
    }
    const whyNot = new Map<Controller, string>();
    for (const controller of CONTROLLERS) {
      const why = isTrial
        ? obstacleTo(files, base, controller)
        : (enable(files, base, controller) ?? enable(files, directory, controller));
      if (why !== undefined) whyNot.set(controller, why);
    }
    return new RunCgroups(directory, files, whyNot);
  }

  /** Why the limits of a controller cannot be set; undefined: they can. */
  whyNot(controller: Controller): string | undefined {
    return this.#whyNot.get(controller);
  }

  pathOf(key: string): string {
    return join(this.directory, key);
  }

  /** Existing groups of runs, including those of earlier processes. */
  keys(): readonly string[] {
    return this.#files.list(this.directory).filter((name) => !name.startsWith(CONTAINER_START));
  }

  /** Makes the group of a run, with its limits. Throws the system's error. */
  create(path: string, writes: readonly GroupWrite[]): void {
    this.#files.make(path);
    for (const [file, text] of writes) {
      const to = join(path, file);
      // A kernel without swap has no such file, and no swap to limit.
      if (file === "memory.swap.max" && !this.#files.has(to)) continue;
      this.#files.write(to, text);
    }
  }
}

/** Functions on one group, by its path; an earlier agent may have made it elsewhere. */
export class RunGroup {
  readonly path: string;
  readonly #files: CgroupFiles;

  constructor(path: string, files: CgroupFiles = systemFiles) {
    this.path = path;
    this.#files = files;
  }

  /** Kills every process of the group at once, whatever session it is in. */
  kill(): void {
    try {
      this.#files.write(join(this.path, "cgroup.kill"), "1");
    } catch {
      // The group is removed, and its processes have ended; otherwise the next poll shows them.
    }
  }

  /** Whether a process of the run is left. */
  get isPopulated(): boolean {
    return /^populated 1$/m.test(this.#files.read(join(this.path, "cgroup.events")) ?? "");
  }

  get pids(): number[] {
    const text = this.#files.read(join(this.path, "cgroup.procs")) ?? "";
    return text.split("\n").filter(Boolean).map(Number);
  }

  /** How often the kernel killed a process of the group at its memory limit. */
  get outOfMemoryKills(): number {
    const text = this.#files.read(join(this.path, "memory.events")) ?? "";
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
  }

  /** False: a process is still in it. */
  remove(): boolean {
    try {
      this.#files.remove(this.path);
      return true;
    } catch (error) {
      return codeOf(error) === "ENOENT";
    }
  }
}

/** An agent that has moved itself aside, or that systemd put there (DelegateSubgroup=). */
const delegatedOf = (own: string): string => (basename(own) === AGENT_GROUP ? dirname(own) : own);

const isListed = (files: CgroupFiles, path: string, controller: Controller): boolean =>
  (files.read(path) ?? "").split(/\s+/).includes(controller);

/** Why the groups below `group` cannot have limits of a controller, as far as that is visible. */
function obstacleTo(files: CgroupFiles, group: string, controller: Controller): string | undefined {
  if (isListed(files, join(group, "cgroup.subtree_control"), controller)) return undefined;
  if (!isListed(files, join(group, "cgroup.controllers"), controller)) {
    return `${group} has no ${controller} controller of version 2`;
  }
  if (files.read(join(group, "cgroup.type")) === undefined) return undefined; // the root may have both
  const others = strangersIn(files, group);
  return others.length === 0
    ? undefined
    : `${group} is shared with other processes (${others.slice(0, 3).join(", ")})`;
}

/** Allows the groups below `group` to have limits of a controller; returns the reason when it cannot. */
function enable(files: CgroupFiles, group: string, controller: Controller): string | undefined {
  const file = join(group, "cgroup.subtree_control");
  const obstacle = obstacleTo(files, group, controller);
  if (obstacle !== undefined || isListed(files, file, controller)) return obstacle;
  try {
    for (let tries = 1; ; tries++) {
      try {
        files.write(file, `+${controller}`);
        break;
      } catch (error) {
        if (codeOf(error) !== "EBUSY" || tries === MOVES_MAX) throw error;
        moveAside(files, group); // again when a program was started meanwhile
      }
    }
  } catch (error) {
    return `the ${controller} controller of ${group} cannot be enabled (${codeOf(error)})`;
  }
  return undefined;
}

/** Processes that are neither this one, nor the one that started it, nor started by this one. */
function strangersIn(files: CgroupFiles, group: string): readonly number[] {
  return new RunGroup(group, files).pids.filter((pid) => !isOwn(files, pid));
}

/** Whether the process belongs to this agent, which probes the machine with programs while it starts. An ended process counts as its own. */
function isOwn(files: CgroupFiles, pid: number): boolean {
  for (let at: number | undefined = pid; at !== undefined && at > 1; at = parentOf(files, at)) {
    if (at === process.pid || at === process.ppid) return true;
    if (!files.has(`/proc/${at}`)) return true;
  }
  return false;
}

/** The name of a program may hold anything; what follows its last bracket is the state, then the parent. */
function parentOf(files: CgroupFiles, pid: number): number | undefined {
  const stat = files.read(`/proc/${pid}/stat`) ?? "";
  const [, , parent] = stat.slice(stat.lastIndexOf(")")).split(" ");
  return parent === undefined ? undefined : Number(parent);
}

/** Moves the processes of a group, which are the agent's, into their own group. */
function moveAside(files: CgroupFiles, group: string): void {
  const aside = join(group, AGENT_GROUP);
  files.make(aside);
  for (const pid of new RunGroup(group, files).pids) {
    try {
      files.write(join(aside, "cgroup.procs"), String(pid));
    } catch (error) {
      if (codeOf(error) !== "ESRCH") throw error; // it has ended
    }
  }
}
