import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

import { parseOwnGroup } from "../../discovery/cgroup.ts";

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

/**
 * A control group of version 2 for each run, below the agent's own, as far as the kernel lets this
 * user make them (delegation). No process can leave its group by itself, so that ending the group ends
 * the run whatever it did.
 *
 *   <own group>/busbar-<tag>/<key>/   cgroup.procs, cgroup.kill, cgroup.events
 */
export class RunCgroups {
  readonly #directory: string;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  /** Tries it out. A text: why there are none here. */
  static open(ownGroup: string | undefined, tag: string): RunCgroups | string {
    if (ownGroup === undefined) return "this machine has no control groups version 2";
    const directory = join(ownGroup, `busbar-${tag}`);
    const groups = new RunCgroups(directory);
    try {
      groups.create("probe");
      const canKill = existsSync(join(directory, "probe", "cgroup.kill"));
      groups.remove("probe");
      return canKill ? groups : "the kernel has no cgroup.kill (it is older than 5.14)";
    } catch (error) {
      const why = error instanceof Error && "code" in error ? String(error.code) : String(error);
      return `${ownGroup} is not delegated to this user (${why})`;
    }
  }

  /** Makes the group of a run; returns its directory. A process enters it by cgroup.procs. */
  create(key: string): string {
    const path = join(this.#directory, key);
    mkdirSync(path, { recursive: true });
    return path;
  }

  /** Kills every process of the run at once, whatever session it is in. */
  kill(key: string): void {
    this.#write(key, "cgroup.kill", "1");
  }

  /** Whether a process of the run is left. */
  isPopulated(key: string): boolean {
    return /^populated 1$/m.test(this.#read(key, "cgroup.events"));
  }

  /** The processes of the run, to tell which could not be ended. */
  pidsOf(key: string): number[] {
    return this.#read(key, "cgroup.procs").split("\n").filter(Boolean).map(Number);
  }

  /** False: someone is still in it. */
  remove(key: string): boolean {
    try {
      rmdirSync(join(this.#directory, key));
      return true;
    } catch (error) {
      return error instanceof Error && "code" in error && error.code === "ENOENT";
    }
  }

  /** Removes what `open` made, if no group of a run is left. */
  close(): void {
    this.remove("");
  }

  /** Groups that are there, of earlier lives too. */
  keys(): string[] {
    return readdirSync(this.#directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  }

  #read(key: string, file: string): string {
    try {
      return readFileSync(join(this.#directory, key, file), "latin1");
    } catch {
      return ""; // it is gone, and whoever was in it
    }
  }

  #write(key: string, file: string, text: string): void {
    writeFileSync(join(this.#directory, key, file), text, { flag: "r+" });
  }
}
