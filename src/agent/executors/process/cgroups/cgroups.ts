import { dirname, basename, join } from "node:path";

import { parseOwnGroup } from "../../../discovery/cgroup.ts";
import type { CgroupFiles } from "./cgroup-files.ts";
import { codeOf, systemFiles } from "./cgroup-files.ts";
import type { GroupWrite } from "./enforcement.ts";

/** Where control groups version 2 of this machine are, and which is the agent's own. */
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
  /** Names the groups of this agent among those of others; a restarted agent has the same. */
  readonly tag: string;
  readonly files?: CgroupFiles;
  /** Only says what would be enforced: leaves nothing behind. */
  readonly isTrial?: boolean | undefined;
}

/** Of the agent and its launchers: the kernel enables no controller beside processes. */
const AGENT_GROUP = "busbar-agent";
const NO_V2 = "this machine has no control groups version 2";
const IN_ROOT =
  "the agent runs in the root control group, which is nobody's to use (name one with --cgroup)";

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

  /** Tries it out. A text: why there are none here. */
  static open(options: CgroupsOptions): RunCgroups | string {
    const { own, named, tag, files = systemFiles, isTrial = false } = options;
    if (named === undefined && own === undefined) return NO_V2;
    const base = named ?? delegatedOf(own ?? "");
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

  /** Groups of runs that exist, of earlier lives too. */
  keys(): readonly string[] {
    return this.#files.list(this.directory);
  }

  /** Makes the group of a run, with its limits. Throws the system's error. */
  create(path: string, writes: readonly GroupWrite[]): void {
    this.#files.make(path);
    for (const [file, text] of writes) {
      const to = join(path, file);
      // A kernel without swap has no such file, and nothing to limit.
      if (file === "memory.swap.max" && !this.#files.has(to)) continue;
      this.#files.write(to, text);
    }
  }
}

/** Functions of one group, by its path: also of one that an earlier agent made elsewhere. */
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

/** Why the groups below `group` cannot have limits of a controller, as far as it can be seen. */
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

/** Lets the groups below `group` have limits of a controller; returns why it cannot. */
function enable(files: CgroupFiles, group: string, controller: Controller): string | undefined {
  const file = join(group, "cgroup.subtree_control");
  const obstacle = obstacleTo(files, group, controller);
  if (obstacle !== undefined || isListed(files, file, controller)) return obstacle;
  try {
    try {
      files.write(file, `+${controller}`);
    } catch (error) {
      if (codeOf(error) !== "EBUSY") throw error;
      moveAside(files, group);
      files.write(file, `+${controller}`);
    }
  } catch (error) {
    return `the ${controller} controller of ${group} cannot be enabled (${codeOf(error)})`;
  }
  return undefined;
}

/** Processes other than this one and the one that started it. */
function strangersIn(files: CgroupFiles, group: string): readonly number[] {
  const own = new Set([process.pid, process.ppid]);
  return new RunGroup(group, files).pids.filter((pid) => !own.has(pid));
}

/** Moves the processes of a group, which are the agent's, into a group of their own. */
function moveAside(files: CgroupFiles, group: string): void {
  const aside = join(group, AGENT_GROUP);
  files.make(aside);
  for (const pid of new RunGroup(group, files).pids) {
    files.write(join(aside, "cgroup.procs"), String(pid));
  }
}
