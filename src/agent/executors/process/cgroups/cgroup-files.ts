import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";

/** The file system of control groups. Calls throw the system's errors. */
export interface CgroupFiles {
  /** Makes a group; an existing one stays. */
  make(path: string): void;
  /** Removes a group without processes and child groups. */
  remove(path: string): void;
  write(path: string, text: string): void;
  /** undefined: it is unreadable. */
  read(path: string): string | undefined;
  has(path: string): boolean;
  /** Names of the groups in a group. */
  list(path: string): readonly string[];
  /** Checks that a process may enter the group; throws when not. The process has ended when this returns. */
  enter(path: string): void;
}

export const systemFiles: CgroupFiles = {
  make(path) {
    try {
      mkdirSync(path);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
  },
  remove: (path) => rmdirSync(path),
  write: (path, text) => writeFileSync(path, text, { flag: "r+" }),
  read(path) {
    try {
      return readFileSync(path, "latin1");
    } catch {
      return undefined;
    }
  },
  has: (path) => existsSync(path),
  list: (path) =>
    readdirSync(path, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name),
  enter(path) {
    const script = 'echo 0 >>"$0/cgroup.procs"';
    const { status } = spawnSync("/bin/sh", ["-c", script, path], { stdio: "ignore" });
    if (status !== 0) throw Object.assign(new Error("cannot enter"), { code: "EACCES" });
  },
};

export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : String(error);
