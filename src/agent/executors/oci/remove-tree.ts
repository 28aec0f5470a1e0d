import { spawnSync } from "node:child_process";
import { existsSync, rmSync } from "node:fs";

/**
 * Removes a directory with the files of containers and images. A user who is not root may own directories that they cannot
 * enter, from images and overlays; as root of a user namespace they can.
 */
export function removeTree(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch (error) {
    if (process.getuid?.() === 0) throw error;
    spawnSync("unshare", ["--user", "--map-root-user", "rm", "-rf", "--", path]);
    if (existsSync(path)) throw error;
  }
}
