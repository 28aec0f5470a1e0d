import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

const CHUNK = Buffer.alloc(4_096);

/** A separate disk, so small that a test can fill it. */
export class SmallDisk {
  readonly path: string;

  /** undefined where mounting is not permitted. */
  static mount(path: string, sizeBytes: number): SmallDisk | undefined {
    mkdirSync(path, { recursive: true });
    const flags = ["-t", "tmpfs", "-o", `size=${sizeBytes}`, "busbar-test", path];
    return spawnSync("mount", flags).status === 0 ? new SmallDisk(path) : undefined;
  }

  private constructor(path: string) {
    this.path = path;
  }

  /** Uses all the free space except this much. */
  fill(leaveBytes = 0): void {
    this.empty();
    const pages = Math.ceil(leaveBytes / CHUNK.length);
    const reserve = join(this.path, "reserve");
    write(reserve, pages);
    write(join(this.path, "ballast"), Number.POSITIVE_INFINITY);
    rmSync(reserve);
  }

  empty(): void {
    rmSync(join(this.path, "ballast"), { force: true });
  }

  setReadOnly(isReadOnly: boolean): void {
    const how = `remount,${isReadOnly ? "ro" : "rw"}`;
    const { status, stderr } = spawnSync("mount", ["-o", how, this.path]);
    if (status !== 0) throw new Error(`mount -o ${how}: ${stderr.toString()}`);
  }

  /** Lazily: a task that continues for a moment may still use it. */
  unmount(): void {
    spawnSync("umount", ["--lazy", this.path]);
  }
}

function write(path: string, pages: number): void {
  const file = openSync(path, "w");
  try {
    for (let count = 0; count < pages; count++) writeSync(file, CHUNK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    closeSync(file);
  }
}
