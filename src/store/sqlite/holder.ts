import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const pidFile = (directory: string): string => join(directory, "busbar.pid");

/** Records which process holds the data. For people only: the lock itself is SQLite's, and ends with the process. */
export function writeHolder(directory: string): void {
  writeFileSync(pidFile(directory), `${process.pid}\n`, { mode: 0o600 });
}

/** Call this while the lock is held, so that it does not remove a successor's file. */
export function removeHolder(directory: string): void {
  rmSync(pidFile(directory), { force: true });
}

/** The process that holds the data, as far as it is known: the file may be old, or from another host. */
export function describeHolder(directory: string): string {
  const pid = readPid(directory);
  if (pid === undefined || !isAlive(pid)) return "another process";
  return pid === process.pid ? `this process (pid ${pid})` : `another process (pid ${pid})`;
}

function readPid(directory: string): number | undefined {
  try {
    const text = readFileSync(pidFile(directory), "utf8").trim();
    return /^[1-9]\d*$/.test(text) ? Number(text) : undefined;
  } catch {
    return undefined; // does not exist yet, or is not readable
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"; // a process of another user
  }
}
